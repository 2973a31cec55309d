//! Questions for what no target of the inventory can tell: a switch that is not in it, a rule that lives in vCenter. Each
//! says what would tell, and which checks it would settle.

use std::collections::BTreeSet;

use crate::diagnose::cause::Found;
use crate::diagnose::check::Lack;
use crate::diagnose::finding::Status;

/// A question for whoever sits there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Question {
    /// Id of the check that it would settle.
    pub check: &'static str,
    /// What cannot be told, and of what.
    pub text: String,
    /// The command or the place that would tell.
    pub decide: String,
}

/// What is open among these findings, each question once, in the order of the catalogue. What will come by itself (a target
/// that is not reached, a probe that failed) is no question.
pub fn questions<'a>(found: impl IntoIterator<Item = &'a Found>) -> Vec<Question> {
    let mut seen = BTreeSet::new();
    found
        .into_iter()
        .filter(|found| found.judged.status == Status::Unknown && found.judged.lack == Some(Lack::NotObservable))
        .map(|found| Question {
            check: found.check.id,
            text: found.judged.title.clone(),
            decide: found.judged.decide.clone(),
        })
        .filter(|question| seen.insert((question.check, question.text.clone())))
        .collect()
}
