//! Flash chips: what dies and channels do, and when.
//!
//! An operation takes its die from its beginning to its end: a read until the
//! data have left the die's register, a program from the first byte into it
//! on. (Chips with a second register overlap a little more; this is not
//! covered.) A die does what it is asked in the order in which it is asked,
//! but for reads that suspend. Channels are [`Timeline`]s.
//!
//! Everything is decided when it is asked for: an operation's end is known at
//! once, and there are no events. Times must therefore be asked for in the
//! order in which the controller decides; they need not ascend.

use octavo_units::{Moment, mix};

use super::timeline::Timeline;

/// Bits that a cell has at most.
pub(crate) const BITS_MAX: usize = 4;

/// What the chips of a device are, with times in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Shape {
    pub(crate) channels: u32,
    pub(crate) dies_per_channel: u32,
    /// Programs that fill a block.
    pub(crate) pages_per_block: u32,
    /// Bytes that one program writes: the flash page of each plane.
    pub(crate) page_bytes: u32,
    /// Pages that a cell has a bit of each of.
    pub(crate) bits_per_cell: u32,
    /// By which of these a page is; all the same beyond them.
    pub(crate) read_ns: [u64; BITS_MAX],
    pub(crate) program_ns: [u64; BITS_MAX],
    /// Reads of the host whose hash is below this are repeated.
    pub(crate) retry_below: u64,
    /// What that takes.
    pub(crate) retry_ns: u64,
    pub(crate) erase_ns: u64,
    /// Picoseconds that a byte takes over a channel.
    pub(crate) channel_ps_per_byte: u64,
    /// How long a program or an erase takes to stop for a read; `None` of
    /// chips on which reads wait until it is over.
    pub(crate) suspend_ns: Option<u64>,
    /// Chips that each operation is made on at once, for the counters: the
    /// channels of a gang, times planes.
    pub(crate) gang: u32,
}

impl Shape {
    pub(crate) fn dies(&self) -> u32 {
        self.channels * self.dies_per_channel
    }

    /// Nanoseconds that `bytes` take over a channel.
    #[inline]
    pub(crate) fn transfer_ns(&self, bytes: u32) -> u64 {
        u64::from(bytes) * self.channel_ps_per_byte / 1000
    }
}

/// What the chips have done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Operations {
    pub(crate) reads: u64,
    pub(crate) read_bytes: u64,
    pub(crate) programs: u64,
    pub(crate) programmed_bytes: u64,
    pub(crate) erases: u64,
}

/// The chips. Dies are numbered so that successive ones are on successive
/// channels.
#[derive(Clone, Debug)]
pub(crate) struct Nand {
    shape: Shape,
    dies: Vec<Die>,
    channels: Vec<Timeline>,
    /// Nothing is asked for before this any more.
    past: Moment,
    operations: Operations,
    timed: bool,
}

#[derive(Clone, Copy, Debug, Default)]
struct Die {
    channel: u32,
    /// Everything that was asked of it is done then.
    free: Moment,
    /// The last read is done then.
    read: Moment,
    /// The last program or erase is done then, which reads may suspend.
    work: Moment,
}

impl Nand {
    pub(crate) fn new(shape: Shape) -> Self {
        Self {
            dies: (0..shape.dies())
                .map(|die| Die {
                    channel: die % shape.channels,
                    ..Die::default()
                })
                .collect(),
            channels: vec![Timeline::default(); shape.channels as usize],
            shape,
            past: Moment::START,
            operations: Operations::default(),
            timed: true,
        }
    }

    pub(crate) fn operations(&self) -> Operations {
        self.operations
    }

    /// Whether operations take time and are counted; while they do not, each
    /// is over at once, which is how devices are preconditioned.
    pub(crate) fn set_timed(&mut self, timed: bool) {
        self.timed = timed;
    }

    /// Says that nothing is going to be asked for before `past`.
    #[inline]
    pub(crate) fn pass(&mut self, past: Moment) {
        self.past = past;
    }

    /// When the last program or erase of a die is over, as far as it is known:
    /// reads may yet put it off.
    #[inline]
    pub(crate) fn work_over(&self, die: u32) -> Moment {
        self.dies[die as usize].work
    }

    /// When a die has done everything that was asked of it.
    #[inline]
    pub(crate) fn idle(&self, die: u32) -> Moment {
        self.dies[die as usize].free
    }

    /// Whether a cell has several bits.
    #[inline]
    pub(crate) fn has_bits(&self) -> bool {
        self.shape.bits_per_cell > 1
    }

    /// Which of its cells' bits the `page`th flash page of a block is.
    #[inline]
    pub(crate) fn bit(&self, page: u32) -> u32 {
        page % self.shape.bits_per_cell
    }

    /// Whether operations take time and are counted.
    #[inline]
    pub(crate) fn is_timed(&self) -> bool {
        self.timed
    }

    /// Senses a flash page and moves `bytes` of it to the controller, for the
    /// host: this may suspend programs and erases. Over when they are there.
    #[inline]
    pub(crate) fn read(&mut self, at: Moment, die: u32, bit: u32, bytes: u32) -> Moment {
        if !self.timed {
            return at;
        }
        let Die {
            channel,
            free,
            read,
            work,
        } = self.dies[die as usize];
        let (begin, suspended) = match self.shape.suspend_ns {
            // It begins when the reads before it are over, and whatever else
            // runs then has stopped.
            Some(suspend_ns) if at.max(read) < work => {
                let stopped = at.max(read).after(if read > at { 0 } else { suspend_ns });
                (stopped.min(work), stopped < work)
            }
            _ => (at.max(free), false),
        };
        let retried =
            self.shape.retry_below > 0 && mix(self.operations.reads) < self.shape.retry_below;
        let retry_ns = u64::from(retried) * self.shape.retry_ns;
        let sensed = begin.after(self.shape.read_ns[bit as usize] + retry_ns);
        let transfer_ns = self.shape.transfer_ns(bytes);
        let end = channel_of(&mut self.channels, channel).take(self.past, sensed, transfer_ns);
        let work = if suspended {
            work.after(end.since(begin))
        } else {
            work
        };
        self.dies[die as usize] = Die {
            channel,
            free: end.max(work),
            read: end,
            work,
        };
        self.operations.reads += 1;
        self.operations.read_bytes += u64::from(bytes);
        end
    }

    /// Moves `bytes` to a die and programs a flash page with them. Over when
    /// they are durable.
    #[inline]
    pub(crate) fn program(&mut self, at: Moment, die: u32, bit: u32, bytes: u32) -> Moment {
        if !self.timed {
            return at;
        }
        let Die { channel, free, .. } = self.dies[die as usize];
        let transfer_ns = self.shape.transfer_ns(bytes);
        let loaded =
            channel_of(&mut self.channels, channel).take(self.past, at.max(free), transfer_ns);
        let end = loaded.after(self.shape.program_ns[bit as usize]);
        let state = &mut self.dies[die as usize];
        (state.free, state.work) = (end, end);
        self.operations.programs += 1;
        self.operations.programmed_bytes += u64::from(bytes);
        end
    }

    /// Senses a flash page and programs it into another one of the same die,
    /// without the channel: one that is the same bit of its cells. Over when it is
    /// durable there.
    #[inline]
    pub(crate) fn copy_back(&mut self, at: Moment, die: u32, bit: u32, bytes: u32) -> Moment {
        if !self.timed {
            return at;
        }
        let end = self.occupy(
            at,
            die,
            self.shape.read_ns[bit as usize] + self.shape.program_ns[bit as usize],
        );
        self.operations.reads += 1;
        self.operations.read_bytes += u64::from(bytes);
        self.operations.programs += 1;
        self.operations.programmed_bytes += u64::from(bytes);
        end
    }

    /// Senses a flash page and moves `bytes` of it to the controller, for the
    /// controller itself: it waits its turn.
    #[inline]
    pub(crate) fn fetch(&mut self, at: Moment, die: u32, bit: u32, bytes: u32) -> Moment {
        if !self.timed {
            return at;
        }
        let Die { channel, free, .. } = self.dies[die as usize];
        let sensed = at.max(free).after(self.shape.read_ns[bit as usize]);
        let transfer_ns = self.shape.transfer_ns(bytes);
        let end = channel_of(&mut self.channels, channel).take(self.past, sensed, transfer_ns);
        let state = &mut self.dies[die as usize];
        (state.free, state.read) = (end, end);
        self.operations.reads += 1;
        self.operations.read_bytes += u64::from(bytes);
        end
    }

    /// Erases a block.
    #[inline]
    pub(crate) fn erase(&mut self, at: Moment, die: u32) -> Moment {
        if !self.timed {
            return at;
        }
        self.operations.erases += u64::from(self.shape.gang);
        self.occupy(at, die, self.shape.erase_ns)
    }

    fn occupy(&mut self, at: Moment, die: u32, duration_ns: u64) -> Moment {
        let state = &mut self.dies[die as usize];
        state.free = at.max(state.free).after(duration_ns);
        state.work = state.free;
        state.free
    }
}

fn channel_of(channels: &mut [Timeline], channel: u32) -> &mut Timeline {
    &mut channels[channel as usize]
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// Single-level cells of 2008: 25 / 200 / 1500 us, 4 KiB pages at 40 MB/s.
    pub(in super::super) const SHAPE: Shape = Shape {
        channels: 2,
        dies_per_channel: 2,
        pages_per_block: 64,
        page_bytes: 4096,
        bits_per_cell: 1,
        read_ns: [25_000; BITS_MAX],
        program_ns: [200_000; BITS_MAX],
        retry_below: 0,
        retry_ns: 0,
        erase_ns: 1_500_000,
        channel_ps_per_byte: 25_000,
        suspend_ns: None,
        gang: 1,
    };

    fn at(nanoseconds: u64) -> Moment {
        Moment::nanoseconds(nanoseconds)
    }

    #[test]
    fn dies_overlap_and_share_their_channel() {
        let mut nand = Nand::new(SHAPE);
        let start = Moment::START;
        // 4096 bytes at 25 ns each.
        assert_eq!(nand.read(start, 0, 0, 4096), at(25_000 + 102_400));
        // Die 2 is on the same channel; it has sensed meanwhile.
        assert_eq!(nand.read(start, 2, 0, 4096), at(25_000 + 2 * 102_400));
        // Die 1 is on the other.
        assert_eq!(nand.program(start, 1, 0, 4096), at(102_400 + 200_000));
        // The same die waits for its register.
        assert_eq!(
            nand.read(start, 0, 0, 2048),
            at(127_400 + 25_000 + 77_400 + 51_200)
        );
        assert_eq!(nand.erase(start, 1), at(302_400 + 1_500_000));
        assert_eq!(nand.copy_back(start, 3, 0, 4096), at(225_000));
        assert_eq!(nand.operations().erases, 1);
        assert_eq!(nand.operations().programmed_bytes, 8192);
    }

    #[test]
    fn reads_suspend_programs_where_chips_can() {
        let mut nand = Nand::new(Shape {
            suspend_ns: Some(10_000),
            ..SHAPE
        });
        assert_eq!(nand.program(Moment::START, 0, 0, 4096), at(302_400));
        // Stops after 10 us, reads for 25 and moves for 102.4.
        assert_eq!(nand.read(at(150_000), 0, 0, 4096), at(287_400));
        // The program had 142.4 us to go after it stopped.
        assert_eq!(nand.work_over(0), at(287_400 + 142_400));
        // Nearly over: it is waited for.
        assert_eq!(nand.read(at(425_000), 0, 0, 4096), at(429_800 + 127_400));
    }

    #[test]
    fn pages_of_a_cell_differ_and_some_reads_are_repeated() {
        let shape = Shape {
            bits_per_cell: 3,
            read_ns: [20_000, 25_000, 30_000, 30_000],
            program_ns: [100_000, 200_000, 300_000, 300_000],
            retry_below: u64::MAX / 100,
            retry_ns: 1_000_000,
            ..SHAPE
        };
        let mut nand = Nand::new(shape);
        assert_eq!(
            [0, 1, 2, 3, 575].map(|page| nand.bit(page)),
            [0, 1, 2, 0, 2]
        );
        let mut now = Moment::START;
        let mut repeated = 0;
        for read in 0..30_000_u32 {
            let bit = nand.bit(read);
            let over = nand.read(now, 0, bit, 0);
            let plain = shape.read_ns[bit as usize];
            repeated += u32::from(over.since(now) == plain + 1_000_000);
            assert!([plain, plain + 1_000_000].contains(&over.since(now)));
            now = over;
        }
        // One in a hundred: 300, with a standard deviation of 17.
        assert!((230..370).contains(&repeated), "{repeated}");
        assert_eq!(nand.program(now, 0, 2, 0).since(now), 300_000);
        // The controller's own reads are not repeated.
        let now = nand.idle(0);
        assert_eq!(nand.fetch(now, 0, 0, 0).since(now), 20_000);
    }
}
