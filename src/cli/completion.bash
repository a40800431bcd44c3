#compdef relayout
# SPDX-License-Identifier: Apache-2.0
#
# Completion of the command's words in bash and in zsh, under each one's name. What there
# is the command says when it is asked: its help has the verbs, the options and their
# values, in the form that the reports below rely on.

# Prints, of the help of a verb, a line for each option: its name and what it takes.
_relayout_options() {
  awk '/^  --/ {
    line = substr($0, 3)
    while (match(line, /^--[a-z-]+/)) {
      name = substr(line, 1, RLENGTH)
      line = substr(line, RLENGTH + 1)
      value = ""
      if (match(line, /^ ([A-Z][^ ]*|[^ ]*[|][^ ]*)/)) {
        value = substr(line, 2, RLENGTH - 1)
        line = substr(line, RLENGTH + 1)
        if (sub(/,$/, "", value)) line = "," line
      }
      print name, value
      if (!sub(/^, /, "", line)) break
    }
  }'
}

# Prints the words of a text such as "show|clear", or "big|little[,big]".
_relayout_words() {
  printf '%s\n' "${1%%\[*}" | tr '|' '\n'
}

_relayout_types() {
  "$1" describe --help | awk 'list { for (n = 1; n < NF; n += 2) print $n "[" }
    /are read as well:$/ { list = 1 }'
}

# Prints what an option's value may be: nothing for a number, or a file.
_relayout_values() {
  case $2 in
    *"|"*) _relayout_words "$2" ;;
    D)
      "$1" devices 2>/dev/null | sed -n 's/^[* ] \([0-9][0-9]*\)  .*/\1/p'
      echo default
      ;;
    F)
      "$1" explain --class cpu 'u8[2,2]' 'u8[2,2]{0,1}' |
        awk '/^families / { list = 1; next } !NF { list = 0 } list { print $1 }'
      ;;
    SHAPE) _relayout_types "$1" ;;
  esac
}

# Prints the members of a file of weights, as FILE::NAME.
_relayout_members() {
  RELAYOUT_OPENCL_LIBRARY=none "$1" describe --json "$2" 2>/dev/null |
    awk -v file="$2" '{
      while (match($0, /"name":"([^"\\]|\\.)*"/)) {
        print file "::" substr($0, RSTART + 8, RLENGTH - 9)
        $0 = substr($0, RSTART + RLENGTH)
      }
    }'
}

# Prints what an operand may be: words that the usage has at this place, operations,
# members, or types, with which shapes begin.
_relayout_operands() {
  local usage
  usage=$("$1" "$2" --help | sed -n '/^Usage/,/^$/p')
  if [ "$4" -eq 3 ]; then
    _relayout_words "$(printf '%s\n' "$usage" | sed -n "s/.*relayout $2 \([a-z|][a-z|]*\).*/\1/p")"
    [ "$2" != op ] || "$1" op --list | sed -n 's/^\([A-Za-z0-9]*\):.*/\1/p'
  fi
  case $3 in
    *::*) _relayout_members "$1" "${3%%::*}" ;;
    *) case $usage in *SHAPE*) _relayout_types "$1" ;; esac ;;
  esac
}

# _relayout_candidates NUMBER COMMAND VERB... PREVIOUS CURRENT: prints what the word
# CURRENT, the NUMBER-th from 1 on, may be.
_relayout_candidates() {
  local number=$1 command=$2 verb=$3 previous=$4 current=$5 value
  if [ "$number" -eq 2 ] || { [ "$verb" = help ] && [ "$number" -eq 3 ]; }; then
    "$command" help | sed -n 's/^  \([a-z][a-z]*\) .*/\1/p'
    return
  fi
  case $current in --*=*) previous=${current%%=*} ;; esac
  value=$("$command" "$verb" --help 2>/dev/null | _relayout_options |
    awk -v name="$previous" '$1 == name { print $2 }')
  case $current in
    --*=*) _relayout_values "$command" "$value" | sed "s/^/$previous=/" ;;
    *)
      if [ -n "$value" ]; then
        _relayout_values "$command" "$value"
      elif [ "${current#-}" != "$current" ]; then
        "$command" "$verb" --help 2>/dev/null | _relayout_options | cut -d ' ' -f 1
        echo --help
      else
        _relayout_operands "$command" "$verb" "$current" "$number"
      fi
      ;;
  esac
}

if [ -n "${ZSH_VERSION-}" ]; then
  _relayout() {
    local candidate
    local -a open closed
    for candidate in ${(f)"$(_relayout_candidates $CURRENT "${words[1]}" "${words[2]}" \
      "${words[CURRENT - 1]}" "$PREFIX")"}; do
      if [[ $candidate == *'[' ]]; then open+=$candidate; else closed+=$candidate; fi
    done
    compadd -S '' -- $open
    compadd -- $closed || [[ -n $open ]] || _files
  }
  _relayout "$@"
else
  # The line is split at its blanks: bash splits it at ":" and "=", too, and replaces
  # what is behind the last of them.
  _relayout() {
    local words candidate rest
    read -r -a words <<<"${COMP_LINE:0:COMP_POINT}"
    [[ ${COMP_LINE:0:COMP_POINT} != *[[:blank:]] ]] || words+=("")
    local current=${words[-1]}
    rest=$current
    [[ $COMP_WORDBREAKS != *:* ]] || rest=${rest##*:}
    [[ $COMP_WORDBREAKS != *=* ]] || rest=${rest##*=}
    COMPREPLY=()
    while IFS= read -r candidate; do
      [[ $candidate == "$current"* ]] || continue
      COMPREPLY+=("${candidate:${#current}-${#rest}}")
      [[ $candidate != *"[" ]] || compopt -o nospace 2>/dev/null
    done < <(_relayout_candidates "${#words[@]}" "${words[0]}" "${words[1]-}" \
      "${words[-2]-}" "$current")
  }
  complete -o default -F _relayout relayout
fi
