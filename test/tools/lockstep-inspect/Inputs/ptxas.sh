#!/bin/sh
# ptxas -v -arch=TARGET SOURCE -o OUTPUT: what ptxas would print of one function.
function=$(sed -n 's/^\.visible \.entry \(.*\)($/\1/p' "$3" | grep -m 1 'step_1_logits_matmul')
cat <<EOF
ptxas info    : 624 bytes gmem
ptxas info    : Compiling entry function '$function' for '${2#-arch=}'
ptxas info    : Function properties for $function
    16 bytes stack frame, 8 bytes spill stores, 8 bytes spill loads
ptxas info    : Used 40 registers, used 1 barriers, 5120 bytes smem
EOF
