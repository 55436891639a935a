//! Scripts and manifests, of fewer than 30 lines each, so that whoever submits one has read it.
//!
//! They all do the same: start `octavo run PLAN --sitting N --into DIR` for each sitting, one on a
//! host at a time, start it again where a host was lost, and ask it to end some time before it is
//! killed ([`SIGNAL_BEFORE`]). What is given to a shell is quoted as [`shell`] does it. What a
//! scheduler reads without a shell is made of letters, digits and hyphens alone.

use std::{
    path::{Path, PathBuf},
    time::Duration,
};

use anyhow::{Context, bail, ensure};
use octavo_report::number::counted;
use serde_json::{Value, json};

use super::environment::PARTS;
use crate::shell;

/// How long before the time limit a sitting is asked to end. It then keeps the passes that are
/// whole, which takes seconds. Slurm may ask up to a minute earlier (sbatch(1), --signal).
const SIGNAL_BEFORE: Duration = Duration::from_secs(120);

/// Finds a host that is gone within 45 s (ssh_config(5)): ssh waits for ever by itself.
const SSH: &str = "ssh -o ServerAliveInterval=15";

/// How often a sitting is started that fails.
const ATTEMPTS: u32 = 3;

/// What a scheduler is to run.
#[derive(Debug)]
pub(super) struct Script {
    /// The plan's file, an absolute path.
    pub(super) plan: PathBuf,
    /// Where to work, an absolute path.
    pub(super) into: PathBuf,
    /// The file that names hosts, an absolute path.
    pub(super) hosts: Option<PathBuf>,
    /// The hosts in that file, or none.
    pub(super) names: Vec<String>,
    pub(super) parts: Parts,
    /// When a part may be taken for lost; none where the plan has no budget.
    pub(super) time_limit: Option<Duration>,
    /// Whether what is measured is the storage below [`Self::into`], as the plan names none.
    pub(super) measures_into: bool,
}

/// What there is to do.
#[derive(Clone, Copy, Debug)]
pub(super) enum Parts {
    /// That many sittings, each alone on a host.
    Sittings(u32),
    /// A prediction in that many parts. Predictions take virtual time, so they may run side by side.
    Shards(u32),
}

impl Parts {
    fn count(self) -> u32 {
        match self {
            Self::Sittings(count) | Self::Shards(count) => count,
        }
    }

    /// `12 sittings`.
    fn counted(self) -> String {
        match self {
            Self::Sittings(count) => counted(count, "sitting"),
            Self::Shards(count) => counted(count, "shard"),
        }
    }

    fn are_alone(self) -> bool {
        matches!(self, Self::Sittings(_))
    }
}

impl Script {
    /// An array job for `sbatch`.
    ///
    /// The process that Slurm signals is Octavo itself, as the shell becomes it (`exec`, and `B:`).
    pub(super) fn slurm(&self) -> anyhow::Result<String> {
        if let Some(hosts) = &self.hosts {
            bail!(
                "--hosts {} is not for slurm, which knows its hosts: leave it out, and choose some \
                 with sbatch --partition, --constraint or --reservation",
                hosts.display()
            );
        }
        let mut lines = self.head("Slurm", "sbatch FILE", "*");
        lines.extend([
            format!("#SBATCH --job-name={}", self.name()),
            format!("#SBATCH --array=0-{}", self.parts.count() - 1),
            "#SBATCH --nodes=1".into(),
            "#SBATCH --ntasks=1".into(),
        ]);
        if self.parts.are_alone() {
            lines.push("#SBATCH --exclusive".into());
        }
        lines.extend(self.time_limit.map(|limit| {
            let minutes = limit.as_secs().div_ceil(60);
            format!("#SBATCH --time={minutes}")
        }));
        lines.extend([
            format!("#SBATCH --signal=B:TERM@{}", SIGNAL_BEFORE.as_secs()),
            "#SBATCH --requeue".into(),
            "#SBATCH --open-mode=append".into(),
        ]);
        lines.push(format!("export {PARTS}={}", self.parts.count()));
        lines.push(format!(
            "exec {}{}",
            self.command("auto", &shell::word(&self.plan), &shell::word(&self.into)),
            self.host("SLURMD_NODENAME"),
        ));
        Ok(text(&lines))
    }

    /// A script that calls GNU parallel.
    ///
    /// `--cleanup` is left out: it removes no directories, and takes a connection for each sitting. A
    /// number and not `auto`, because `--resume-failed` goes by the numbers in the job log. The
    /// command is quoted twice: GNU parallel gives it to a shell on the host.
    pub(super) fn parallel(&self) -> anyhow::Result<String> {
        let hosts = self.hosts.as_ref().with_context(
            || "--for parallel needs --hosts FILE, with a line for each host as ssh takes it",
        )?;
        let plan_name = self.plan.file_name().unwrap_or_default();
        let plan_name = Path::new(plan_name);
        for path in [plan_name, &self.into] {
            let text = path.to_str().unwrap_or("{");
            ensure!(
                !text.contains(['{', '}']) && !text.contains(char::is_control),
                "'{}' is no path for GNU parallel, which replaces braces and wants UTF-8: give it \
                 another name",
                path.display()
            );
        }
        // rsync puts what is behind `/./` into the directory of work.
        let directory = self.plan.parent().unwrap_or(Path::new("/"));
        // `Path::join` would drop the dot.
        let mut base = directory.as_os_str().to_owned();
        base.push("/./");
        base.push(plan_name);
        let (part, before) = match self.parts {
            Parts::Sittings(count) => (format!("{{}}/{count}"), String::new()),
            Parts::Shards(count) => ("auto".to_owned(), format!("env {PARTS}={count} ")),
        };
        let command = format!(
            "{before}{}{}{}",
            self.timeout(),
            self.command(&part, &shell::word(plan_name), "part-{}"),
            self.host("PARALLEL_SSHHOST"),
        );
        let into = shell::word(&self.into);
        let mut lines = self.head("GNU parallel", "bash FILE, and again to resume", "*/*");
        lines.extend([
            "set -eu".into(),
            format!("mkdir -p {into} && cd {into}"),
            format!(
                "seq 0 {} | parallel --sshloginfile {} {}--retries {ATTEMPTS} \\",
                self.parts.count() - 1,
                shell::word(hosts),
                if self.parts.are_alone() {
                    "--jobs 1 "
                } else {
                    ""
                },
            ),
            format!("  --joblog joblog --resume-failed --filter-hosts --ssh '{SSH}' \\"),
            format!("  --basefile {} --workdir {into} \\", shell::word(base)),
            "  --return part-{} \\".into(),
            format!("  {}", shell::word(command)),
        ]);
        Ok(text(&lines))
    }

    /// A script that calls `hq submit`.
    ///
    /// A sitting asks for all CPUs, so no other task runs on its worker.
    pub(super) fn hyperqueue(&self) -> anyhow::Result<String> {
        let mut lines = self.head(
            "HyperQueue",
            "bash FILE, with hq server and workers started",
            "*",
        );
        if let Some(hosts) = &self.hosts {
            lines.push(format!(
                "# Workers: hq worker deploy-ssh {}",
                shell::word(hosts)
            ));
        }
        lines.extend([
            format!(
                "hq submit --name={} --array=0-{} {} --crash-limit={ATTEMPTS} \\",
                self.name(),
                self.parts.count() - 1,
                if self.parts.are_alone() {
                    "--cpus=all"
                } else {
                    "--cpus=1"
                },
            ),
            format!(
                "  -- env {PARTS}={} {}{}",
                self.parts.count(),
                self.timeout(),
                self.command("auto", &shell::word(&self.plan), &shell::word(&self.into))
            ),
        ]);
        Ok(text(&lines))
    }

    /// A manifest for `kubectl apply`: YAML, whose texts are those of JSON.
    pub(super) fn kubernetes(&self) -> anyhow::Result<String> {
        let name = self.label();
        let plan = shell::word(&self.plan);
        let (Some(into), false) = (self.into.to_str(), plan.contains(is_line_end)) else {
            bail!(
                "{} and {} have to be UTF-8 without line ends in a manifest: give other names",
                self.plan.display(),
                self.into.display()
            );
        };
        ensure!(
            !into.contains(is_line_end),
            "'{}' has a line end: give another name",
            self.into.display()
        );
        let part = match self.parts {
            Parts::Sittings(_) => json!(["octavo", "run", "/plan/plan.toml", "--sitting", "auto"]),
            Parts::Shards(_) => json!(["octavo", "predict", "/plan/plan.toml", "--shard", "auto"]),
        };
        let mut command = part.as_array().cloned().unwrap_or_default();
        command.extend(["--into", "/into"].map(Value::from));
        let usage = format!(
            "kubectl create configmap {name} --from-file=plan.toml={plan} && kubectl apply -f FILE"
        );
        let mut lines = self.comments("Kubernetes 1.33", &usage, "*");
        lines[0] += " Never run on a cluster.";
        lines[2] += ", once the stores of all nodes are in one place";
        lines.extend([
            "apiVersion: batch/v1".into(),
            "kind: Job".into(),
            format!("metadata: {{name: {name}}}"),
            "spec:".into(),
            "  completionMode: Indexed".into(),
            format!("  completions: {}", self.parts.count()),
            format!("  parallelism: {}", self.parts.count()),
            format!("  backoffLimitPerIndex: {}", ATTEMPTS - 1),
            format!("  podFailurePolicy: {}", POD_FAILURES),
            "  template:".into(),
            format!("    metadata: {{labels: {{octavo: {name}}}}}"),
            "    spec:".into(),
            "      restartPolicy: Never".into(),
            format!(
                "      terminationGracePeriodSeconds: {}",
                SIGNAL_BEFORE.as_secs()
            ),
        ]);
        lines.extend(
            self.time_limit
                .map(|limit| format!("      activeDeadlineSeconds: {}", limit.as_secs())),
        );
        if let Some(affinity) = self.affinity(&name) {
            lines.push(format!("      affinity: {affinity}"));
        }
        if self.parts.are_alone() {
            command.extend(["--host", "$(NODE)"].map(Value::from));
        }
        let mut environment = vec![json!({"name": PARTS, "value": self.parts.count().to_string()})];
        if self.parts.are_alone() {
            let node = json!({"fieldRef": {"fieldPath": "spec.nodeName"}});
            environment.push(json!({"name": "NODE", "valueFrom": node}));
        }
        let mounts = json!([
            {"name": "plan", "mountPath": "/plan"},
            {"name": "into", "mountPath": "/into"},
        ]);
        let volumes = json!([
            {"name": "plan", "configMap": {"name": name}},
            {"name": "into", "hostPath": {"path": into, "type": "DirectoryOrCreate"}},
        ]);
        lines.extend([
            "      containers:".into(),
            "      - name: octavo".into(),
            "        image: octavo # yours".into(),
            format!("        command: {}", Value::from(command)),
            format!("        env: {}", Value::from(environment)),
            format!("        volumeMounts: {mounts}"),
            format!("      volumes: {volumes}"),
        ]);
        Ok(text(&lines))
    }

    /// Where pods run: one of these on a node, and on the nodes that a file names.
    fn affinity(&self, name: &str) -> Option<Value> {
        let mut affinity = serde_json::Map::new();
        if self.parts.are_alone() {
            let term = json!({
                "topologyKey": "kubernetes.io/hostname",
                "labelSelector": {"matchLabels": {"octavo": name}},
            });
            let rule = json!({"requiredDuringSchedulingIgnoredDuringExecution": [term]});
            affinity.insert("podAntiAffinity".into(), rule);
        }
        if !self.names.is_empty() {
            let rule =
                json!({"key": "kubernetes.io/hostname", "operator": "In", "values": self.names});
            let terms = json!({"nodeSelectorTerms": [{"matchExpressions": [rule]}]});
            let rule = json!({"requiredDuringSchedulingIgnoredDuringExecution": terms});
            affinity.insert("nodeAffinity".into(), rule);
        }
        (!affinity.is_empty()).then(|| affinity.into())
    }

    /// The command of a part. `OCTAVO` is for a program that is not on the hosts' `PATH`.
    fn command(&self, part: &str, plan: &str, into: &str) -> String {
        let (command, option) = match self.parts {
            Parts::Sittings(_) => ("run", "--sitting"),
            Parts::Shards(_) => ("predict", "--shard"),
        };
        format!("\"${{OCTAVO:-octavo}}\" {command} {plan} {option} {part} --into {into}")
    }

    /// Which host it is, for sittings.
    fn host(&self, variable: &str) -> String {
        match self.parts {
            Parts::Sittings(_) => format!(" --host \"${variable}\""),
            Parts::Shards(_) => String::new(),
        }
    }

    /// What ends a part at its time limit, where the scheduler would kill it at once. Without
    /// `--foreground` it would be in a process group of its own, and outlive a connection that is
    /// cut.
    fn timeout(&self) -> String {
        self.time_limit.map_or_else(String::new, |limit| {
            let wait = SIGNAL_BEFORE.as_secs();
            let limit = limit.as_secs().saturating_sub(wait);
            format!("timeout --foreground --kill-after={wait} {limit} ")
        })
    }

    /// The first lines of a script for a shell.
    fn head(&self, scheduler: &str, usage: &str, stores: &str) -> Vec<String> {
        let mut lines = vec!["#!/bin/bash".to_owned()];
        lines.extend(self.comments(scheduler, usage, stores));
        lines
    }

    /// What it is, how to use it, and what follows from the plan. `stores` is where results are, below
    /// [`Self::into`].
    fn comments(&self, scheduler: &str, usage: &str, stores: &str) -> Vec<String> {
        let (parts, plan) = (self.parts.counted(), shell::word(&self.plan));
        let into = shell::word(&self.into);
        let mut lines = vec![
            format!("# {parts} of {plan} on {scheduler}, printed by octavo fleet script."),
            format!("# Start: {usage}"),
            format!("# Then: octavo merge all {into}/{stores}/octavo.db && octavo report all"),
        ];
        if self.measures_into {
            lines.push(format!(
                "# The plan names no storage, so the one below {into} is measured."
            ));
        }
        if self.time_limit.is_none() {
            lines.push(format!(
                "# No time limit: {}.",
                match self.parts {
                    Parts::Sittings(_) => "the plan has no budget",
                    Parts::Shards(_) => "predictions have no budget",
                }
            ));
        }
        lines
    }

    /// A name of letters, digits and hyphens.
    fn name(&self) -> String {
        format!("octavo-{}", plain(&self.plan))
    }

    /// The same as Kubernetes has names (RFC 1123), short enough for the index behind it.
    fn label(&self) -> String {
        let name = self.name().to_lowercase();
        let short: String = name.chars().take(50).collect();
        short.trim_end_matches('-').to_owned()
    }
}

/// A refused plan is not tried again, and a pod that is lost with its node counts as no failure.
const POD_FAILURES: &str = "{rules: [{action: FailIndex, onExitCodes: {operator: In, values: [2]}}, \
     {action: Ignore, onPodConditions: [{type: DisruptionTarget, status: \"True\"}]}]}";

/// The letters and digits of a plan's name, with hyphens for all else.
fn plain(plan: &Path) -> String {
    let name = plan.file_stem().unwrap_or_default().to_string_lossy();
    let mapped = name.chars().map(|c| match c.is_ascii_alphanumeric() {
        true => c,
        false => '-',
    });
    let mapped: String = mapped.take(60).collect();
    match mapped.trim_matches('-') {
        "" => "plan".to_owned(),
        name => name.to_owned(),
    }
}

/// What ends a line of YAML.
fn is_line_end(c: char) -> bool {
    c.is_control() || matches!(c, '\u{2028}' | '\u{2029}')
}

fn text(lines: &[String]) -> String {
    let mut text = lines.join("\n");
    text.push('\n');
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn script(plan: &str, into: &str, parts: Parts) -> Script {
        Script {
            plan: plan.into(),
            into: into.into(),
            hosts: None,
            names: Vec::new(),
            parts,
            time_limit: matches!(parts, Parts::Sittings(_)).then_some(Duration::from_secs(7200)),
            measures_into: false,
        }
    }

    fn on_hosts(script: Script) -> Script {
        Script {
            hosts: Some("/h/hosts.txt".into()),
            names: vec!["n1".into(), "n2".into()],
            ..script
        }
    }

    #[test]
    fn slurm_runs_an_array_on_nodes_of_its_own() {
        let sittings = script("/p/my plan.toml", "/d", Parts::Sittings(12));
        assert_eq!(
            sittings.slurm().unwrap(),
            "#!/bin/bash\n\
             # 12 sittings of '/p/my plan.toml' on Slurm, printed by octavo fleet script.\n\
             # Start: sbatch FILE\n\
             # Then: octavo merge all /d/*/octavo.db && octavo report all\n\
             #SBATCH --job-name=octavo-my-plan\n\
             #SBATCH --array=0-11\n\
             #SBATCH --nodes=1\n\
             #SBATCH --ntasks=1\n\
             #SBATCH --exclusive\n\
             #SBATCH --time=120\n\
             #SBATCH --signal=B:TERM@120\n\
             #SBATCH --requeue\n\
             #SBATCH --open-mode=append\n\
             export OCTAVO_PARTS=12\n\
             exec \"${OCTAVO:-octavo}\" run '/p/my plan.toml' --sitting auto --into /d --host \
             \"$SLURMD_NODENAME\"\n"
        );
        let shards = script("/p/plan.toml", "/d", Parts::Shards(20));
        let text = shards.slurm().unwrap();
        assert!(!text.contains("--exclusive"), "{text}");
        assert!(text.contains("# No time limit: predictions have no budget.\n"));
        assert!(text.ends_with(
            "export OCTAVO_PARTS=20\nexec \"${OCTAVO:-octavo}\" predict /p/plan.toml --shard auto \
             --into /d\n"
        ));
        let error = on_hosts(shards).slurm().unwrap_err().to_string();
        assert!(error.contains("--hosts /h/hosts.txt is not for slurm"));
    }

    #[test]
    fn parallel_quotes_for_two_shells() {
        let sittings = on_hosts(script("/p/my plan.toml", "/d d", Parts::Sittings(2)));
        let text = sittings.parallel().unwrap();
        let (_, text) = text.split_once("set -eu\n").unwrap();
        assert_eq!(
            text,
            "mkdir -p '/d d' && cd '/d d'\n\
             seq 0 1 | parallel --sshloginfile /h/hosts.txt --jobs 1 --retries 3 \\\n  \
             --joblog joblog --resume-failed --filter-hosts --ssh 'ssh -o ServerAliveInterval=15' \\\n  \
             --basefile '/p/./my plan.toml' --workdir '/d d' \\\n  \
             --return part-{} \\\n  \
             'timeout --foreground --kill-after=120 7080 \"${OCTAVO:-octavo}\" run '\\''my plan.toml'\\'' \
             --sitting {}/2 --into part-{} --host \"$PARALLEL_SSHHOST\"'\n"
        );
        for (plan, into) in [
            ("/p/{}.toml", "/d"),
            ("/p/a.toml", "/{#}"),
            ("/p/a\n.toml", "/d"),
        ] {
            let text = on_hosts(script(plan, into, Parts::Sittings(2))).parallel();
            assert!(
                text.unwrap_err()
                    .to_string()
                    .contains("is no path for GNU parallel")
            );
        }
        let error = script("/p", "/d", Parts::Sittings(2))
            .parallel()
            .unwrap_err();
        assert!(error.to_string().contains("needs --hosts FILE"));
    }

    #[test]
    fn hyperqueue_gives_a_sitting_all_of_a_worker() {
        let text = script("/p/plan.toml", "/d", Parts::Sittings(12))
            .hyperqueue()
            .unwrap();
        assert!(text.ends_with(
            "hq submit --name=octavo-plan --array=0-11 --cpus=all --crash-limit=3 \\\n  \
             -- env OCTAVO_PARTS=12 timeout --foreground --kill-after=120 7080 \"${OCTAVO:-octavo}\" run /p/plan.toml --sitting auto \
             --into /d\n"
        ));
        let text = script("/p/plan.toml", "/d", Parts::Shards(12))
            .hyperqueue()
            .unwrap();
        assert!(text.contains(" --cpus=1 ") && text.contains("-- env OCTAVO_PARTS=12 \""));
    }

    /// What this manifest is made of was checked by bench/fleet-kubernetes.py.
    #[test]
    fn kubernetes_has_one_pod_on_a_node() {
        let mut sittings = on_hosts(script("/p/Plan_1.toml", "/d \"d\"", Parts::Sittings(12)));
        sittings.measures_into = true;
        assert_eq!(
            sittings.kubernetes().unwrap(),
            r#"# 12 sittings of /p/Plan_1.toml on Kubernetes 1.33, printed by octavo fleet script. Never run on a cluster.
# Start: kubectl create configmap octavo-plan-1 --from-file=plan.toml=/p/Plan_1.toml && kubectl apply -f FILE
# Then: octavo merge all '/d "d"'/*/octavo.db && octavo report all, once the stores of all nodes are in one place
# The plan names no storage, so the one below '/d "d"' is measured.
apiVersion: batch/v1
kind: Job
metadata: {name: octavo-plan-1}
spec:
  completionMode: Indexed
  completions: 12
  parallelism: 12
  backoffLimitPerIndex: 2
  podFailurePolicy: {rules: [{action: FailIndex, onExitCodes: {operator: In, values: [2]}}, {action: Ignore, onPodConditions: [{type: DisruptionTarget, status: "True"}]}]}
  template:
    metadata: {labels: {octavo: octavo-plan-1}}
    spec:
      restartPolicy: Never
      terminationGracePeriodSeconds: 120
      activeDeadlineSeconds: 7200
      affinity: {"nodeAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":{"nodeSelectorTerms":[{"matchExpressions":[{"key":"kubernetes.io/hostname","operator":"In","values":["n1","n2"]}]}]}},"podAntiAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":[{"labelSelector":{"matchLabels":{"octavo":"octavo-plan-1"}},"topologyKey":"kubernetes.io/hostname"}]}}
      containers:
      - name: octavo
        image: octavo # yours
        command: ["octavo","run","/plan/plan.toml","--sitting","auto","--into","/into","--host","$(NODE)"]
        env: [{"name":"OCTAVO_PARTS","value":"12"},{"name":"NODE","valueFrom":{"fieldRef":{"fieldPath":"spec.nodeName"}}}]
        volumeMounts: [{"mountPath":"/plan","name":"plan"},{"mountPath":"/into","name":"into"}]
      volumes: [{"configMap":{"name":"octavo-plan-1"},"name":"plan"},{"hostPath":{"path":"/d \"d\"","type":"DirectoryOrCreate"},"name":"into"}]
"#
        );
        let shards = script("/p/plan.toml", "/d", Parts::Shards(3))
            .kubernetes()
            .unwrap();
        assert!(!shards.contains("affinity"), "{shards}");
        assert!(shards.contains(r#"env: [{"name":"OCTAVO_PARTS","value":"3"}]"#));
        for (plan, into) in [
            ("/p", "/d\u{2028}x: y"),
            ("/p\u{2028}x: y", "/d"),
            ("/p", "/d\n"),
        ] {
            script(plan, into, Parts::Shards(3))
                .kubernetes()
                .unwrap_err();
        }
    }

    #[test]
    fn names_are_those_that_schedulers_take() {
        for (plan, name) in [
            ("/p/plan.toml", "octavo-plan"),
            ("/p/a\nb; rm .toml", "octavo-a-b--rm"),
            ("/p/größe.toml", "octavo-gr--e"),
            ("/p/--.toml", "octavo-plan"),
        ] {
            assert_eq!(script(plan, "/d", Parts::Sittings(1)).name(), name);
        }
        let long = format!("/p/{}-X.toml", "a".repeat(42));
        let label = script(&long, "/d", Parts::Sittings(1)).label();
        assert_eq!(label, format!("octavo-{}", "a".repeat(42)));
    }
}
