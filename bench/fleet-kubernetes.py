"""Checks the manifest that `octavo fleet script --for kubernetes` prints against the types of
Kubernetes' API, as its Python client has them (they are generated from the OpenAPI schema).

Every key has to be one of its type, every value of the type that the key has, and what is required
has to be there. Nothing is run on a cluster: whether the manifest does what it should is not
known from this.

    pip install kubernetes pyyaml
    python3 bench/fleet-kubernetes.py [OCTAVO]
"""

import pathlib
import re
import subprocess
import sys
import tempfile

import kubernetes
import yaml
from kubernetes.client import models

PLAN = """format = 1
name = "Hosts"

[experiment]
budget = "1h"
compare = "page-size"

[workload]
name = "ycsb-a"
records = 10000

[cells]
page-size = ["4K", "8K"]
memory = "1MiB"
clients = 1
"""

PLAIN = {"str": str, "int": int, "bool": bool, "float": (int, float)}


def check(value, kind, place):
    """Refuses a value that is not of a type of the API."""
    if kind in PLAIN:
        # A bool is an int to Python.
        is_one = isinstance(value, PLAIN[kind]) and (kind == "bool" or not isinstance(value, bool))
        assert is_one, f"{place} is {value!r}, no {kind}"
    elif kind == "object":
        pass
    elif found := re.fullmatch(r"[Ll]ist\[(.*)\]", kind):
        assert isinstance(value, list), f"{place} is no list"
        for number, item in enumerate(value):
            check(item, found[1], f"{place}[{number}]")
    elif found := re.fullmatch(r"[Dd]ict[\[(]str, (.*)[\])]", kind):
        assert isinstance(value, dict), f"{place} has no keys"
        for key, item in value.items():
            check(key, "str", place)
            check(item, found[1], f"{place}.{key}")
    else:
        assert isinstance(value, dict), f"{place} is no {kind}"
        model = getattr(models, kind)
        names = {theirs: ours for ours, theirs in model.attribute_map.items()}
        given = {}
        for key, item in value.items():
            assert key in names, f"{place}.{key} is no key of {kind}"
            check(item, model.openapi_types[names[key]], f"{place}.{key}")
            given[names[key]] = item
        # Its setters refuse what is required and missing.
        model(**given)


def rules(job, count, hosts):
    """What the API's types do not say (kubernetes.io/docs/concepts/workloads/controllers/job)."""
    spec, pod = job["spec"], job["spec"]["template"]["spec"]
    assert (job["apiVersion"], job["kind"]) == ("batch/v1", "Job")
    assert spec["completionMode"] == "Indexed" and spec["completions"] == count
    # Both are needed for a limit for each index.
    assert spec["backoffLimitPerIndex"] >= 1 and pod["restartPolicy"] == "Never"
    names = {volume["name"] for volume in pod["volumes"]}
    (container,) = pod["containers"]
    assert {mount["name"] for mount in container["volumeMounts"]} == names
    label = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?")
    for name in [job["metadata"]["name"], *names, *spec["template"]["metadata"]["labels"].values()]:
        assert label.fullmatch(name) and len(name) <= 63, name
    assert len(f"{job['metadata']['name']}-{count}") <= 63
    anti = pod.get("affinity", {}).get("podAntiAffinity")
    if "--sitting" in container["command"]:
        (term,) = anti["requiredDuringSchedulingIgnoredDuringExecution"]
        assert term["topologyKey"] == "kubernetes.io/hostname"
        assert term["labelSelector"]["matchLabels"] == spec["template"]["metadata"]["labels"]
        assert container["command"][-2:] == ["--host", "$(NODE)"]
    else:
        assert anti is None
    if hosts:
        nodes = pod["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]
        assert nodes["nodeSelectorTerms"][0]["matchExpressions"][0]["values"] == hosts


def main():
    octavo = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else "target/release/octavo").resolve()
    with tempfile.TemporaryDirectory() as directory:
        home = pathlib.Path(directory)
        for name in ["plan.toml", "A 'plan' \": {x}.toml", "x" * 90 + ".toml"]:
            (home / name).write_text(PLAN)
            (home / "hosts").write_text("n1\nn2\n")
            for options, count, hosts in [
                (["--sittings", "12"], 12, None),
                (["--hosts", "hosts"], 4, ["n1", "n2"]),
                (["--shards", "30"], 30, None),
            ]:
                devices = '[cells]\nstorage = "device:nvme-tlc"\n' if "--shards" in options else "[cells]\n"
                (home / name).write_text(PLAN.replace("[cells]\n", devices))
                command = [octavo, "fleet", "script", name, "--for", "kubernetes", *options]
                ran = subprocess.run(command, cwd=home, capture_output=True, text=True, check=True)
                job = yaml.safe_load(ran.stdout)
                check(job, "V1Job", "job")
                rules(job, count, hosts)
        # The check itself has to find a wrong key and a wrong type.
        for wrong in [("  completions:", "  completion:"), ("completions: ", "completions: x")]:
            try:
                check(yaml.safe_load(ran.stdout.replace(*wrong)), "V1Job", "job")
            except AssertionError:
                continue
            raise SystemExit(f"not found: {wrong}")
    print(f"9 manifests are Jobs as Kubernetes' client {kubernetes.__version__} knows them; none was run")


main()
