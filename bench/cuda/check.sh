#!/bin/sh
# What has to be tried on a GPU, in one command: bench/cuda/check.sh FOLDER [SECONDS]
#
# FOLDER is made by bench/cuda/prepare.py, on a machine where Lockstep has been built. Needs Python 3 and NVIDIA's driver, no network. The report
# goes to the standard output and to report.txt in $OUT, or in FOLDER. SECONDS is a limit for all of it, by default 500.
set -u
folder=${1:?expected the folder that bench/cuda/prepare.py has made}
report=${OUT:-$folder}/report.txt
python3 "$(dirname "$0")/check.py" "$folder" "${2:-500}" > "$report" 2>&1
status=$?
cat "$report"
exit $status
