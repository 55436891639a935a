#!/usr/bin/env bash
# Makes the examples of README and docs/value.md again, with the octavo of this checkout.
#
#   docs/example.sh            from the store that is kept, docs/example/octavo.db
#   docs/example.sh measure    measures that store first, in /mnt/data/octavo: on a quiet
#                              machine, with a release build, for five minutes
#
# README's text and docs/report.png show one store, and docs/value.md what its commands
# print; tests hold all three to that. The picture needs chromium.
set -euo pipefail
cd "$(dirname "$0")/.."

cargo build --release --quiet -p octavo-cli
octavo=$PWD/target/release/octavo
store=$PWD/docs/example/octavo.db
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

if [ "${1:-}" = measure ]; then
    mkdir -p /mnt/data
    PATH=$PWD/target/release:$PATH octavo advise /mnt/data/octavo
    mkdir -p docs/example
    cp /mnt/data/octavo/octavo.db "$store"
fi

"$octavo" report "$store" --html "$scratch/report.html" > "$scratch/answer.txt"
chromium=$(command -v chromium || command -v chromium-browser || command -v google-chrome)
"$chromium" --headless --no-sandbox --disable-gpu --hide-scrollbars --window-size=1440,960 \
    --screenshot="$scratch/report.png" "file://$scratch/report.html" 2> "$scratch/chromium.txt" ||
    { cat "$scratch/chromium.txt" >&2; exit 1; }

mkdir "$scratch/value"
python3 - docs/value.md > "$scratch/value/prices.toml" <<'PYTHON'
import re, sys
page = open(sys.argv[1]).read()
print(re.search(r"```toml\n(\[prices\].*?)```", page, re.S)[1], end="")
PYTHON
# The commands of that page, as they stand.
commands=$(python3 - docs/value.md <<'PYTHON'
import re, sys
page = open(sys.argv[1]).read()
print(re.search(r"```sh\n(octavo predict.*?)```", page, re.S)[1])
PYTHON
)
(cd "$scratch/value" && PATH=$(dirname "$octavo"):$PATH bash -euc "$commands" 2> /dev/null |
    sed -n '/^on-st373455ss (predicted, not measured)/,$p' > "$scratch/value.txt")

python3 - "$scratch" <<'PYTHON'
import pathlib, re, struct, sys, zlib

scratch = pathlib.Path(sys.argv[1])


def printed(name):
    # Figures and their units are held together on the terminal, not here.
    return (scratch / name).read_text().replace("\u00a0", " ").rstrip("\n") + "\n"


def put(page, pattern, text):
    path = pathlib.Path(page)
    new, count = re.subn(pattern, lambda found: found[1] + text + found[3], path.read_text(), flags=re.S)
    assert count == 1, f"{page} has {count} such blocks"
    path.write_text(new)


answer = printed("answer.txt")
where = "/mnt/data/octavo"
answer += f"Report: {where}/report.html     All tables: octavo report {where} --verbose\n"
put("README.md", r"(```text\n\$ octavo advise [^\n]*\n)(.*?)(```)", answer)
put("docs/value.md", r"(\nprints\n\n```\n)(.*?)(```)", printed("value.txt"))

# What the picture shows, for people who cannot see it and for the test.
decisions = [line.strip() for line in answer.split("\n\n")[1].splitlines()]
chunk = b"tEXt" + b"Description\0" + " ".join(decisions).encode("latin-1", "replace")
chunk = struct.pack(">I", len(chunk) - 4) + chunk + struct.pack(">I", zlib.crc32(chunk))
picture = (scratch / "report.png").read_bytes()
header = 8 + 25  # the signature and the first chunk
pathlib.Path("docs/report.png").write_bytes(picture[:header] + chunk + picture[header:])
PYTHON
git --no-pager diff --stat -- README.md docs
