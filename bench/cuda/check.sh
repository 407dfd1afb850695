#!/bin/sh
# What has to be tried on a GPU, in one command. Needs Python 3 and NVIDIA's driver, no network.
usage='usage: bench/cuda/check.sh FOLDER [SECONDS]

Runs what bench/cuda/prepare.py has packed into FOLDER, on a machine with a GPU,
within SECONDS (default: 500). The report goes to the standard output, and to
report.txt in $OUT, or in FOLDER.'
set -u
case ${1:---help} in
-h | --help)
  echo "$usage"
  exit 0
  ;;
esac
folder=$1
if [ ! -f "$folder/models.json" ]; then
  echo "check.sh: expected a folder that bench/cuda/prepare.py has made, found '$folder'" >&2
  exit 2
fi
report=${OUT:-$folder}/report.txt
python3 "$(dirname "$0")/check.py" "$folder" "${2:-500}" > "$report" 2>&1
status=$?
cat "$report"
exit $status
