//! Logging in by answers to the server's questions (keyboard-interactive): any number of rounds, each with any number of
//! questions, none among them. ESXi hosts take passwords in this way only.

use russh::client::{KeyboardInteractiveAuthResponse as Response, Prompt};
use tokio::time::Instant;

use super::secrets::{Given, Late, Wanted};
use super::{Halt, Login, Progress, Step};
use crate::app::SecretKind;
use crate::collect::transport::ssh::error::Failure;
use crate::fabric::Text;

/// The name of the method.
const METHOD: &str = "keyboard-interactive";
/// No login takes so many rounds.
const MOST_ROUNDS: usize = 10;
/// No round has so many questions.
const MOST_QUESTIONS: usize = 8;

impl Login<'_> {
    /// Answers the server's questions. It is not begun where nobody could answer: some hosts count that as a failure.
    pub(super) async fn interactive(&mut self, progress: &mut Progress) -> Result<Step, Halt> {
        let mut command = self.command_secret(progress).await?;
        if command.is_none()
            && self.wallet.late.is_none()
            && let Some(why) = self.asking.forbidden(self.settings)
        {
            let mut request = self.request(SecretKind::Interactive, "", "", false, false);
            // What it would ask is not known.
            request.question = Text::new("");
            progress.needs(request, why);
            return Ok(Step::Exhausted(None));
        }
        let begun = Instant::now();
        let mut given: Vec<Given> = Vec::new();
        let mut rounds = 0;
        let mut response = self.handle.authenticate_keyboard_interactive_start(&self.settings.user, None).await;
        loop {
            let (name, instructions, prompts) = match response {
                Ok(Response::Success) => return Ok(Step::Done(accepted(given))),
                Ok(Response::Failure { partial_success: true, remaining_methods }) => {
                    return Ok(Step::Partial(accepted(given), remaining_methods));
                }
                Ok(Response::Failure { remaining_methods, .. }) if given.is_empty() => {
                    if self.is_over(&remaining_methods) {
                        return Err(self.closed(progress.tried.clone()).await.into());
                    }
                    return Ok(Step::Exhausted(Some(remaining_methods)));
                }
                Ok(Response::Failure { remaining_methods, .. }) => {
                    return Err(self.secret_refused(METHOD, given, &remaining_methods, progress).await);
                }
                Ok(Response::InfoRequest { name, instructions, prompts }) => (name, instructions, prompts),
                Err(_) => return Err(self.closed(progress.tried.clone()).await.into()),
            };
            rounds += 1;
            if rounds > MOST_ROUNDS || prompts.len() > MOST_QUESTIONS {
                let secret_sent = self.risk.has_sent();
                if secret_sent {
                    // What became of it is not known: it may have counted.
                    self.asking.memory.refused();
                }
                return Err(Failure::QuestionsWithoutEnd { secret_sent }.into());
            }
            let instruction = format!("{name} {instructions}");
            let answers = self.answers(&instruction, &prompts, rounds, &mut command, progress).await?;
            if begun.elapsed() >= self.answer_limit && !answers.is_empty() {
                return Err(self.too_late(&prompts, answers));
            }
            let texts = answers.iter().map(|answer| answer.secret.expose().to_owned()).collect();
            if !answers.is_empty() {
                self.risk.secret_sent();
            }
            given.extend(answers);
            response = self.handle.authenticate_keyboard_interactive_respond(texts).await;
        }
    }

    /// One answer for each question of a round.
    async fn answers(
        &mut self,
        instruction: &str,
        prompts: &[Prompt],
        round: usize,
        command: &mut Option<Given>,
        progress: &mut Progress,
    ) -> Result<Vec<Given>, Halt> {
        if let [Prompt { prompt, echo: false }] = prompts {
            if let Some(secret) = command.take() {
                return Ok(vec![secret]);
            }
            // The same question in a new session: the answer was typed already, and nobody has seen it yet. Until that
            // question comes it is kept: a new session asks from the first round on.
            if let Some(late) = self.wallet.late.take_if(|late| late.question == *prompt) {
                return Ok(vec![late.given]);
            }
        }
        let mut answers = Vec::new();
        for Prompt { prompt, echo } in prompts {
            // A password may be shared where it alone is asked for; codes are for one login.
            let may_reuse = round == 1 && prompts.len() == 1 && !echo;
            let request = self.request(SecretKind::Interactive, instruction, prompt, *echo, may_reuse);
            let given = if let Some(why) = self.asking.forbidden(self.settings) {
                Err(why)
            } else {
                let reuse = may_reuse.then(|| format!("password of {}", self.settings.user));
                self.asking.ask(request.clone(), reuse).await
            };
            match given {
                Ok(given) => answers.push(given),
                Err(why) => {
                    let tried = Box::new(progress.tried.clone());
                    return Err(Failure::SecretNeeded { asked: Box::new(request), why, tried }.into());
                }
            }
        }
        Ok(answers)
    }

    /// The server has ended the session by now, or will while it gets the answer: it is given in a new one. Nothing of
    /// this round was sent yet; what earlier rounds asked is asked again there.
    fn too_late(&mut self, prompts: &[Prompt], mut answers: Vec<Given>) -> Halt {
        if let ([Prompt { prompt, echo: false }], 1, Some(given)) = (prompts, answers.len(), answers.pop()) {
            self.wallet.late = Some(Late { question: prompt.clone(), given });
        }
        Halt::Wanted(Box::new(Wanted::NewSession))
    }
}

/// What is told of a login that succeeded; those who wait for a verdict get it.
fn accepted(given: Vec<Given>) -> String {
    let label = match given.first() {
        Some(first) => first.label(),
        None => "no secret needed".to_owned(),
    };
    for mut given in given {
        given.judge(true);
    }
    label
}
