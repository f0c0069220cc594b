# Completes what is typed after tlstax, in bash.
@TABLES@

# The lines of a kind: those known beforehand, and those that the program ($2) knows.
_tlstax_names() {
    _tlstax_words "$1"
    if [[ $(_tlstax_traits "$1") == *asked* ]]; then "${2/#\~/$HOME}" @WORD@ "$1" 2>/dev/null </dev/null; fi
}

_tlstax() {
    local IFS=$' \t\n' line=${COMP_LINE:0:COMP_POINT} current='' place='' option='' word
    local -a words
    COMPREPLY=()
    read -ra words <<<"$line"
    if [[ $line != *[[:space:]] ]]; then
        current=${words[-1]}
        unset 'words[-1]'
    fi
    for word in "${words[@]:1}"; do
        if [[ -n $option ]]; then
            option=''
        elif [[ $word == -* ]]; then
            if [[ $word != *=* && -n $(_tlstax_values "$place $word") ]]; then option=$word; fi
        elif [[ $'\n'$(_tlstax_commands "$place") == *$'\n'"$word"$'\t'* ]]; then
            place=${place:+$place }$word
        fi
    done
    local before='' kind='' traits='' found=''
    if [[ -z $option && $current == --*=* ]]; then option=${current%%=*} before=${current%%=*}=; fi
    if [[ -n $option ]]; then
        kind=$(_tlstax_values "$place $option")
    elif [[ $current == -* ]]; then
        found=$(_tlstax_options "$place")
    else
        found=$(_tlstax_commands "$place")
        if [[ -z $found ]]; then kind=$(_tlstax_values "$place :"); fi
    fi
    if [[ -n $kind ]]; then
        traits=$(_tlstax_traits "$kind") found=$(_tlstax_names "$kind" "${COMP_WORDS[0]}")
        if [[ $traits == *list* && $current == *,* ]]; then before=${current%,*},; fi
    fi
    # Bash replaces what follows the last character at which it divides words, which = and : usually are.
    local kept=${current%"${current##*[=:]}"}
    while IFS=$'\t' read -r word _; do
        if [[ -n $word && $before$word == "$current"* ]]; then
            word=$before$word
            COMPREPLY+=("${word#"$kept"}")
        fi
    done <<<"$found"
    if [[ $traits == *files* ]]; then
        compopt -o filenames 2>/dev/null
        while IFS= read -r word; do COMPREPLY+=("$word"); done < <(compgen -f -- "${current#"$before"}")
    fi
    if [[ ${#COMPREPLY[@]} == 1 && ${COMPREPLY[0]} == *= ]]; then compopt -o nospace 2>/dev/null; fi
}
complete -F _tlstax tlstax
