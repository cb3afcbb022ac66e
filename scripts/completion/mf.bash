# SPDX-License-Identifier: Apache-2.0
#
# Completion of mf's tools for bash: options from the tool's own help, values that the
# help lists behind an option, and files. Options are read once for each tool and shell.
declare -gA _mf_help

_mf_complete() {
  local tool=$1 word=$2 verb='' help option
  # The first word behind mf is a verb, which has a help of its own.
  if [[ ${tool##*/} == mf && $COMP_CWORD -gt 1 ]]; then
    verb=${COMP_WORDS[1]}
    [[ $verb == help ]] && verb=''
  fi
  [[ -n ${_mf_help[$tool $verb]-} ]] || _mf_help[$tool $verb]=$("$tool" $verb --help 2>/dev/null)
  help=${_mf_help[$tool $verb]}
  if [[ ${tool##*/} == mf && -z $verb && $word != -* ]]; then
    local verbs
    verbs=$(awk '/^  [a-z]+ +- / { print $1 }' <<<"$help")
    mapfile -t COMPREPLY < <(compgen -W "$verbs" -- "$word")
    return
  fi
  # bash ends words at `=`: an option and the part of its value are two words then.
  option=${COMP_WORDS[COMP_CWORD - 1]}
  [[ $word == '=' ]] && word=''
  [[ $option == '=' ]] && option=${COMP_WORDS[COMP_CWORD - 2]}
  if [[ $option == --* && ${COMP_WORDS[COMP_CWORD - 1]} == '=' || ${COMP_WORDS[COMP_CWORD]} == '=' ]]; then
    local values
    values=$(awk -v option="$option" '
      $1 ~ "^--" { name = $1; sub(/[=[].*/, "", name); inside = name == option; next }
      inside && $1 ~ /^=/ { print substr($1, 2); next }
      inside && !/^ *-/ { inside = 0 }' <<<"$help")
    if [[ -n $values ]]; then
      mapfile -t COMPREPLY < <(compgen -W "$values" -- "$word")
      return
    fi
  elif [[ $word == -* ]]; then
    local options
    options=$(awk '$1 ~ /^--[a-z]/ {
      name = $1; value = name ~ /=</; sub(/[=[].*/, "", name); print name (value ? "=" : "") }' <<<"$help")
    mapfile -t COMPREPLY < <(compgen -W "$options" -- "$word")
    [[ ${#COMPREPLY[@]} -eq 1 && ${COMPREPLY[0]} == *= ]] && compopt -o nospace
    return
  fi
  compopt -o filenames
  mapfile -t COMPREPLY < <(compgen -f -- "$word")
}

complete -F _mf_complete mf mf-opt mf-translate mf-run mf-plan mf-plan-memory mf-schedule \
  mf-check-rewrite mf-compare mf-reduce mf-lsp-server
