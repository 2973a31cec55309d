#!/usr/bin/env bash
# Takes the screen that README.md shows: the console on the embedded lab, in a real terminal (tmux) of 100 x 30, on the panel
# Live of a guest with a passed-through adapter, with a mark where a fault was switched on. Writes it between the markers in
# README.md.
#
#   demo/capture.sh [PROGRAM]
set -euo pipefail
cd "$(dirname "$0")/.."
program=$(realpath "${1:-target/release/rdmascope}")
socket=rdmascope-capture-$$
trap 'tmux -L "$socket" kill-server 2> /dev/null || true' EXIT
session() { tmux -L "$socket" "$@"; }
# Waits until the screen holds a text.
shows() {
  for _ in $(seq 300); do
    if session capture-pane -p | grep -qF -- "$1"; then return; fi
    sleep 0.2
  done
  echo "the screen never showed: $1" >&2
  session capture-pane -p >&2
  return 1
}
session -f /dev/null new-session -d -x 100 -y 30 "env LC_ALL=C.UTF-8 HOME=/nonexistent $program demo --seed 7"
shows '9 up'
session send-keys n n n n 5
shows 'throughput'
# Enough history to fill half of the window.
sleep 45
session send-keys m
shows 'note of mark A'
session send-keys 'mtu 1500 on hca-b?' Enter
session send-keys : ; shows 'Palette'
session send-keys 'hca-a: packet loss' Enter
shows 'hca-a'
sleep 20
screen=$(session capture-pane -p)
session send-keys q
python3 - "$screen" <<'PYTHON'
import re, sys
text = "\n".join(line.rstrip() for line in sys.argv[1].splitlines())
page = open("README.md").read()
block = f"<!-- screen capture: begin -->\n*Live* in `rdmascope demo`, while packets get lost on the way of a guest:\n\n```text\n{text}\n```\n<!-- screen capture: end -->"
page, count = re.subn(r"<!-- screen capture: begin -->.*?<!-- screen capture: end -->", lambda _: block, page, flags=re.S)
assert count == 1, "README.md has no place for the capture"
open("README.md", "w").write(page)
PYTHON
