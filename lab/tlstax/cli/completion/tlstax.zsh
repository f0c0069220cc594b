#compdef tlstax
# Completes what is typed after tlstax, in zsh.
@TABLES@

# Offers lines of a word and, behind a tab, what it means; further arguments are for compadd.
_tlstax_offer() {
    local line tab=$'\t'
    local -a offered
    for line in "${(@f)1}"; do
        line=${line//:/\\:}
        if [[ -n $line ]]; then offered+=("${line/$tab/:}"); fi
    done
    if (($#offered)); then _describe -t names 'name' offered "${@:2}"; fi
}

_tlstax() {
    local current=${words[CURRENT]} place='' option='' kind='' traits='' found='' word
    for word in "${(@Q)words[2,CURRENT-1]}"; do
        if [[ -n $option ]]; then
            option=''
        elif [[ $word == -* ]]; then
            if [[ $word != *=* && -n $(_tlstax_values "$place $word") ]]; then option=$word; fi
        elif [[ $'\n'$(_tlstax_commands "$place") == *$'\n'"$word"$'\t'* ]]; then
            place=${place:+$place }$word
        fi
    done
    if [[ -z $option && $current == --*=* ]]; then
        option=${current%%=*}
        compset -P '*='
    fi
    if [[ -n $option ]]; then
        kind=$(_tlstax_values "$place $option")
    elif [[ $current == -* ]]; then
        found=$(_tlstax_options "$place")
    else
        found=$(_tlstax_commands "$place")
        if [[ -z $found ]]; then kind=$(_tlstax_values "$place :"); fi
    fi
    if [[ -n $kind ]]; then
        traits=$(_tlstax_traits "$kind") found=$(_tlstax_words "$kind")
        if [[ $traits == *asked* ]]; then
            found+=$'\n'$("${${(Q)words[1]}/#\~/$HOME}" @WORD@ "$kind" 2>/dev/null </dev/null)
        fi
        if [[ $traits == *list* ]]; then compset -P '*,'; fi
    fi
    if [[ $kind == settings ]]; then _tlstax_offer "$found" -S ''; else _tlstax_offer "$found"; fi
    if [[ $traits == *files* ]]; then _files; fi
}

# Kept as a file of fpath it is the function itself; sourced, it says what it is for.
if [[ $funcstack[1] == _tlstax ]]; then _tlstax "$@"; else compdef _tlstax tlstax; fi
