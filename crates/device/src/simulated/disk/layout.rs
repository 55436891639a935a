//! Where sectors lie: zones, cylinders, heads, and the angle of each sector.
//!
//! Sectors fill a track, then the tracks of the other heads in the same
//! cylinder, then the next cylinder inwards. Zones hold equally many cylinders,
//! and from the outermost to the innermost the sectors of a track fall in equal
//! steps. Each track begins a skew later than the one before it, as long as
//! switching to it takes, so that whoever reads on loses the switch but no
//! revolution.
//!
//! Not covered: spare sectors and reassigned ones, and layouts that fill many
//! tracks under one head first.

/// What a layout is made of.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Shape {
    pub(super) capacity_bytes: u64,
    pub(super) sector_bytes: u32,
    pub(super) heads: u32,
    pub(super) zones: u32,
    pub(super) revolution_ns: u32,
    /// Sustained rates, switches included, in bytes per second.
    pub(super) outer_rate: f64,
    pub(super) inner_rate: f64,
    /// From one head to the next, and from a cylinder's last to the next
    /// cylinder's first.
    pub(super) head_skew_ns: u32,
    pub(super) cylinder_skew_ns: u32,
}

impl Shape {
    /// Bytes that pass under one head in a revolution, and are read at `rate`
    /// when each revolution is followed by a mean switch.
    fn sectors_per_track(&self, rate: f64) -> u32 {
        let heads = f64::from(self.heads);
        let switch_ns = (f64::from(self.head_skew_ns) * (heads - 1.0)
            + f64::from(self.cylinder_skew_ns))
            / heads;
        let track_ns = f64::from(self.revolution_ns) + switch_ns;
        (rate * track_ns / 1e9 / f64::from(self.sector_bytes)).round() as u32
    }

    fn rate(&self, zone: u32) -> f64 {
        let steps = f64::from((self.zones - 1).max(1));
        self.outer_rate + (self.inner_rate - self.outer_rate) * f64::from(zone) / steps
    }

    /// Cylinders that the capacity needs, or `None` where a track holds no
    /// sector or they do not fit 32 bits.
    pub(super) fn cylinders(&self) -> Option<u32> {
        self.cylinders_per_zone()?.checked_mul(self.zones)
    }

    fn cylinders_per_zone(&self) -> Option<u32> {
        let tracks: Vec<u64> = (0..self.zones)
            .map(|zone| u64::from(self.sectors_per_track(self.rate(zone))))
            .collect();
        if tracks.contains(&0) {
            return None;
        }
        let one_each = tracks.iter().sum::<u64>().checked_mul(self.heads.into())?;
        let sectors = self.capacity_bytes / u64::from(self.sector_bytes);
        u32::try_from(sectors.div_ceil(one_each)).ok()
    }
}

/// Where a sector lies. A spot may stand behind the last sector of its track;
/// [`Layout::onto_track`] takes it to the next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Spot {
    pub(super) cylinder: u32,
    pub(super) head: u32,
    pub(super) sector: u32,
    zone: u32,
}

impl Spot {
    /// Behind `sectors` of its track.
    #[inline]
    pub(super) const fn behind(self, sectors: u32) -> Self {
        Self {
            sector: self.sector + sectors,
            ..self
        }
    }
}

/// All zones.
#[derive(Clone, Debug)]
pub(super) struct Layout {
    zones: Vec<Zone>,
    zone_cylinders: u32,
    heads: u32,
    revolution_ns: u32,
    head_skew_ns: u32,
    /// By how much the first tracks of two neighbouring cylinders are turned.
    cylinder_turn_ns: u64,
}

#[derive(Clone, Copy, Debug)]
struct Zone {
    /// Index of its first sector.
    first_sector: u64,
    sectors_per_track: u32,
    /// Nanoseconds of a sector, times 2^32.
    sector_ns: u64,
}

impl Layout {
    /// Lays out `shape`, of which [`Shape::cylinders`] is known.
    pub(super) fn new(shape: &Shape) -> Option<Self> {
        let zone_cylinders = shape.cylinders_per_zone()?;
        let mut first_sector = 0;
        let zones = (0..shape.zones)
            .map(|zone| {
                let sectors_per_track = shape.sectors_per_track(shape.rate(zone));
                let zone = Zone {
                    first_sector,
                    sectors_per_track,
                    sector_ns: (u64::from(shape.revolution_ns) << 32)
                        / u64::from(sectors_per_track),
                };
                first_sector += u64::from(sectors_per_track)
                    * u64::from(shape.heads)
                    * u64::from(zone_cylinders);
                zone
            })
            .collect();
        Some(Self {
            zones,
            zone_cylinders,
            heads: shape.heads,
            revolution_ns: shape.revolution_ns,
            head_skew_ns: shape.head_skew_ns,
            cylinder_turn_ns: u64::from(shape.head_skew_ns) * u64::from(shape.heads - 1)
                + u64::from(shape.cylinder_skew_ns),
        })
    }

    pub(super) const fn revolution_ns(&self) -> u32 {
        self.revolution_ns
    }

    /// Where sector `index` lies.
    #[inline]
    pub(super) fn spot(&self, index: u64) -> Spot {
        let zone = self
            .zones
            .iter()
            .skip(1)
            .take_while(|zone| zone.first_sector <= index)
            .count();
        let at = &self.zones[zone];
        let within = index - at.first_sector;
        let track = within / u64::from(at.sectors_per_track);
        let sector = within % u64::from(at.sectors_per_track);
        // A zone holds fewer tracks than 2^32, as `Parameters::check` sees to.
        let track = track as u32;
        Spot {
            cylinder: zone as u32 * self.zone_cylinders + track / self.heads,
            head: track % self.heads,
            sector: sector as u32,
            zone: zone as u32,
        }
    }

    /// Goes from behind a track's last sector to the next track's first.
    #[inline]
    pub(super) fn onto_track(&self, spot: Spot) -> Spot {
        if spot.sector < self.zones[spot.zone as usize].sectors_per_track {
            return spot;
        }
        let mut next = Spot { sector: 0, ..spot };
        next.head += 1;
        if next.head == self.heads {
            next.head = 0;
            next.cylinder += 1;
            if next.cylinder == (next.zone + 1) * self.zone_cylinders
                && (next.zone as usize) < self.zones.len() - 1
            {
                next.zone += 1;
            }
        }
        next
    }

    /// Sectors from `spot` to the end of its track.
    #[inline]
    pub(super) fn left_on_track(&self, spot: Spot) -> u32 {
        self.zones[spot.zone as usize].sectors_per_track - spot.sector
    }

    /// The angle at which the sector begins, as nanoseconds of a revolution.
    #[inline]
    pub(super) fn angle_ns(&self, spot: Spot) -> u32 {
        let track = u64::from(spot.cylinder) * self.cylinder_turn_ns
            + u64::from(spot.head) * u64::from(self.head_skew_ns);
        let angle = track + u64::from(self.along_track_ns(spot.zone, spot.sector));
        (angle % u64::from(self.revolution_ns)) as u32
    }

    /// How long `sectors` from `spot` on, all on its track, take to pass.
    #[inline]
    pub(super) fn passing_ns(&self, spot: Spot, sectors: u32) -> u32 {
        self.along_track_ns(spot.zone, spot.sector + sectors)
            - self.along_track_ns(spot.zone, spot.sector)
    }

    /// How many sectors have passed completely `elapsed_ns` after the
    /// beginning of `spot`.
    #[inline]
    pub(super) fn passed(&self, spot: Spot, elapsed_ns: u64) -> u32 {
        let count = (elapsed_ns << 32) / self.zones[spot.zone as usize].sector_ns;
        count.min(u64::from(self.left_on_track(spot))) as u32
    }

    #[inline]
    fn along_track_ns(&self, zone: u32, sector: u32) -> u32 {
        ((u64::from(sector) * self.zones[zone as usize].sector_ns) >> 32) as u32
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shape() -> Shape {
        Shape {
            capacity_bytes: 73_407_865_856,
            sector_bytes: 512,
            heads: 2,
            zones: 16,
            revolution_ns: 4_000_000,
            outer_rate: 125e6,
            inner_rate: 73e6,
            head_skew_ns: 400_000,
            cylinder_skew_ns: 440_000,
        }
    }

    #[test]
    fn every_sector_lies_behind_the_one_before() {
        let shape = shape();
        let layout = Layout::new(&shape).unwrap();
        let sectors = shape.capacity_bytes / 512;
        // Around the ends of zones and of the disk, one sector after another.
        let mut starts: Vec<u64> = layout.zones.iter().map(|z| z.first_sector).collect();
        starts.push(sectors - 5_000);
        for start in starts {
            let start = start.saturating_sub(2_500);
            let mut spot = layout.spot(start);
            for index in start..(start + 5_000).min(sectors) {
                assert_eq!(layout.onto_track(spot), layout.spot(index), "{index}");
                spot = layout.spot(index);
                spot.sector += 1;
            }
        }
        assert!(layout.spot(sectors - 1).cylinder < shape.cylinders().unwrap());
    }

    #[test]
    fn rates_and_capacity_are_those_asked_for() {
        let shape = shape();
        let layout = Layout::new(&shape).unwrap();
        for (zone, rate) in [(0, 125e6), (15, 73e6)] {
            let track = f64::from(layout.zones[zone].sectors_per_track) * 512.0;
            // A cylinder of two tracks: two revolutions and both switches.
            let sustained = 2.0 * track / (2.0 * 4e-3 + 0.4e-3 + 0.44e-3);
            assert!((sustained / rate - 1.0).abs() < 1e-3, "{sustained}");
        }
        let tracks: u64 = layout
            .zones
            .iter()
            .map(|zone| u64::from(zone.sectors_per_track))
            .sum();
        let held = tracks * u64::from(layout.zone_cylinders) * 2 * 512;
        let spare = held as f64 / shape.capacity_bytes as f64 - 1.0;
        assert!((0.0..1e-3).contains(&spare), "{spare}");
    }

    #[test]
    fn the_next_track_comes_after_its_switch() {
        let layout = Layout::new(&shape()).unwrap();
        let mut spot = layout.spot(0);
        for switch in [400_000, 440_000, 400_000, 440_000] {
            let turned = layout.angle_ns(spot);
            spot.sector = layout.zones[0].sectors_per_track;
            spot = layout.onto_track(spot);
            let next = layout.angle_ns(spot);
            assert_eq!((next + 4_000_000 - turned) % 4_000_000, switch);
        }
    }
}
