//! Predicted counts: `counts WORKLOAD SCALE MEMORY_BYTES WARM_UP TRANSACTIONS SIZE...`.
use octavo_device::simulated::Constant;
use octavo_predict::*;
use octavo_units::*;
use octavo_workload::*;
fn main() {
    let a: Vec<String> = std::env::args().skip(1).collect();
    let name: WorkloadName = a[0].parse().unwrap();
    let scale = name.family().data.scale().name;
    let data = name.data_spec(&[(scale, a[1].parse().unwrap())]).unwrap();
    let workload = WorkloadSpec::new(name, data, Seed::new(1).derive("population", 0))
        .build()
        .unwrap();
    for size in &a[5..] {
        let begin = std::time::Instant::now();
        let setup = Setup {
            page_size: PageSize::new(size.parse().unwrap()).unwrap(),
            memory: ByteCount::new(a[2].parse().unwrap()),
            seed: Seed::new(1).derive("inputs", 0),
            cpu: CpuCost::default(),
        };
        let device = Constant::new(ByteCount::mib(1 << 20), 0);
        let mut system = System::sqlite(&*workload, &setup, Box::new(device)).unwrap();
        let (mut refs, mut asked) = (0, [Asked::default(); 4]);
        let (warm, count): (u64, u64) = (a[3].parse().unwrap(), a[4].parse().unwrap());
        for number in 0..warm + count {
            let done = system.transaction().unwrap();
            if number >= warm {
                refs += done.references;
                for (sum, own) in asked.iter_mut().zip(done.asked) {
                    sum.requests += own.requests;
                    sum.bytes += own.bytes;
                    sum.flushes += own.flushes;
                }
            }
        }
        let n = count as f64;
        let [read, log, sync, data] =
            asked.map(|a| [a.requests, a.bytes, a.flushes].map(|x| x as f64 / n));
        println!(
            "{size:>6} misses {:.3} refs {:.1} log {:.0} data {:.0} read {:.0} syncs {:.3} in {:?}",
            read[0],
            refs as f64 / n,
            log[1],
            data[1],
            read[1],
            sync[2] + data[2],
            begin.elapsed()
        );
    }
}
