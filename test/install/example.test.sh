# SPDX-License-Identifier: Apache-2.0
#
# Prints what bash offers for some unfinished commands with the tools installed in $1.
PATH=$1/bin:$PATH
source "$1/share/bash-completion/completions/mf-opt"
cd "$(dirname "$0")"

offer() {
  COMP_WORDS=("$@")
  COMP_CWORD=$(($# - 1))
  COMPREPLY=()
  # compopt works only while bash completes.
  compopt() { :; }
  _mf_complete "$1" "${COMP_WORDS[COMP_CWORD]}"
  echo "<${COMPREPLY[*]}>"
}
offer mf-plan --fr
offer mf com
offer mf check --hb
offer mf-schedule --transfers =
offer mf-schedule --transfers = bl
offer mf-schedule --sta
offer mf-run example.tes
