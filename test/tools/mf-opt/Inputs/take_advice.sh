# SPDX-License-Identifier: Apache-2.0
#
# Compiles a step that does not fit, and again with the settings that mf-opt
# advises behind those of another YAML; prints what it said and the bytes that
# the fullest stage then has.
#
# usage: take_advice.sh MF_OPT YAML REST MODEL PREFIX OPTION...
mf_opt=$1 yaml=$2 rest=$3 model=$4 prefix=$5
shift 5
rm -f "$prefix.mlir"
"$mf_opt" --quiet --recompute-config="$yaml" "$model" -o "$prefix.mlir" "$@" 2> "$prefix.txt"
code=$?
cat "$prefix.txt"
test ! -e "$prefix.mlir" && echo "code $code, nothing written"
{ cat "$rest" && awk '/^note:/ { on = /^note: proven/ } on' "$prefix.txt" | sed -n 's/^  //p'; } > "$prefix.yaml"
"$mf_opt" --quiet --recompute-config="$prefix.yaml" "$model" -o "$prefix.mlir" "$@" || exit 1
sed -n 's/.*ascend.program @stage\([0-9]*\).*arena_bytes = \([0-9]*\).*/\2 \1/p' "$prefix.mlir" |
  sort -n -r -k 1,1 | sed -n '1s/\(.*\) \(.*\)/compiled with them: fullest stage \2, \1 bytes/p'
