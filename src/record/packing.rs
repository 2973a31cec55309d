//! Packing of chunks. Ticks of a target resemble those of a second before, but some ten thousand bytes of other targets
//! lie between them: a packer that looks back over megabytes makes a tenth of what one with the 32 KiB of gzip makes. So
//! all chunks from one keyframe to the next are one stream, flushed at the end of each chunk.

use std::io;

use zstd::stream::raw::{CParameter, DParameter, Decoder, Encoder, InBuffer, Operation, OutBuffer};

use super::format::LONGEST_CHUNK;

/// Of the levels that cost next to nothing, the one that packs best.
const LEVEL: i32 = 3;

/// How far the packer looks back, as a power of two: 4 MiB.
const WINDOW: u32 = 22;

/// Packs the chunks of one stream.
pub struct Packer {
    encoder: Encoder<'static>,
}

impl Packer {
    /// A packer at the start of a stream. Fails only without memory.
    pub fn new() -> io::Result<Self> {
        let mut encoder = Encoder::new(LEVEL)?;
        encoder.set_parameter(CParameter::WindowLog(WINDOW))?;
        Ok(Self { encoder })
    }

    /// Packs one chunk, so that it can be unpacked as soon as those before it are.
    pub fn pack(&mut self, raw: &[u8]) -> io::Result<Vec<u8>> {
        let mut packed = Vec::with_capacity(zstd::zstd_safe::compress_bound(raw.len()) + 64);
        let mut input = InBuffer::around(raw);
        let mut piece = vec![0; 64 << 10];
        while input.pos() < raw.len() {
            let mut output = OutBuffer::around(piece.as_mut_slice());
            self.encoder.run(&mut input, &mut output)?;
            packed.extend_from_slice(output.as_slice());
        }
        loop {
            let mut output = OutBuffer::around(piece.as_mut_slice());
            let left = self.encoder.flush(&mut output)?;
            packed.extend_from_slice(output.as_slice());
            if left == 0 {
                return Ok(packed);
            }
        }
    }

    /// Starts another stream.
    pub fn restart(&mut self) -> io::Result<()> {
        self.encoder.reinit()
    }
}

/// Unpacks the chunks of one stream, in their order.
pub struct Unpacker {
    decoder: Decoder<'static>,
}

impl Unpacker {
    /// An unpacker at the start of a stream. Fails only without memory.
    pub fn new() -> io::Result<Self> {
        let mut decoder = Decoder::new()?;
        // A stream that asks for a wider look back than any packer of ours would ask for our memory.
        decoder.set_parameter(DParameter::WindowLogMax(WINDOW))?;
        Ok(Self { decoder })
    }

    /// Unpacks one chunk; `None` if it is no chunk of this stream or is not exactly `raw` bytes long. Never makes more.
    pub fn unpack(&mut self, packed: &[u8], raw: usize) -> Option<Vec<u8>> {
        if raw > LONGEST_CHUNK {
            return None;
        }
        // One byte more than promised, to see a chunk that holds more.
        let mut unpacked = vec![0; raw + 1];
        let mut output = OutBuffer::around(unpacked.as_mut_slice());
        let mut input = InBuffer::around(packed);
        loop {
            let before = (input.pos(), output.pos());
            self.decoder.run(&mut input, &mut output).ok()?;
            if output.pos() > raw {
                return None;
            }
            if (input.pos(), output.pos()) == before {
                break;
            }
        }
        let complete = input.pos() == packed.len() && output.pos() == raw;
        unpacked.truncate(raw);
        complete.then_some(unpacked)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(second: usize) -> Vec<u8> {
        (0..3000)
            .flat_map(|line| format!("line {line} of a tick, value {}\n", line * second % 7).into_bytes())
            .collect()
    }

    #[test]
    fn chunks_of_a_stream_come_out_as_they_went_in_and_later_ones_are_short() {
        let (mut packer, mut unpacker) = (Packer::new().expect("memory"), Unpacker::new().expect("memory"));
        let packed: Vec<Vec<u8>> = (0..5).map(|second| packer.pack(&text(second)).expect("packed")).collect();
        for (second, packed) in packed.iter().enumerate() {
            assert_eq!(unpacker.unpack(packed, text(second).len()), Some(text(second)));
        }
        assert!(packed[4].len() * 2 < packed[1].len(), "{:?}", packed.iter().map(Vec::len).collect::<Vec<_>>());
        packer.restart().expect("restarted");
        let again = packer.pack(&text(9)).expect("packed");
        assert_eq!(Unpacker::new().expect("memory").unpack(&again, text(9).len()), Some(text(9)));
        assert_eq!(packer.pack(b"").ok().and_then(|empty| unpacker.unpack(&empty, 0)), Some(Vec::new()));
    }

    #[test]
    fn a_bomb_and_a_lying_length_are_refused() {
        let zeros = vec![0; LONGEST_CHUNK + 1];
        let mut packer = Packer::new().expect("memory");
        let bomb = packer.pack(&zeros).expect("packed");
        assert!(bomb.len() < 10_000);
        for lie in [0, 1, 1000, LONGEST_CHUNK, LONGEST_CHUNK + 1, usize::MAX] {
            assert_eq!(Unpacker::new().expect("memory").unpack(&bomb, lie), None, "{lie}");
        }
        let mut wide = Encoder::new(3).expect("memory");
        wide.set_parameter(CParameter::WindowLog(27)).expect("a parameter");
        let mut packed = vec![0; 1 << 20];
        let mut output = OutBuffer::around(packed.as_mut_slice());
        wide.run(&mut InBuffer::around(&zeros[..1000]), &mut output).expect("packed");
        wide.flush(&mut output).expect("flushed");
        let length = output.pos();
        assert_eq!(Unpacker::new().expect("memory").unpack(&packed[..length], 1000), None, "asks for 128 MiB");
    }
}
