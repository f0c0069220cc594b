# Whether the words after `tlstax` are a command with options that it has, known before anything is set up for it.
#
# Follows the library that reads them afterwards (Typer), to its sentences, by setup/words.txt, which setup/renew-help makes of the
# commands themselves. What a value may be, the laboratory says.
# shellcheck shell=bash disable=SC2154  # the variables of places.sh

# Ends with status 2 and a sentence where they are a mistake.
refuse_mistakes() {
    # Of the command found so far: its words, `group` or another kind, its options and arguments as setup/words.txt has them. `words`
    # are still to be read; `given` are options that were, `free` the words that are none.
    local command='' kind='' options=() arguments=() words=() given='' free=()
    name_last_runs "$@"
    find_command tlstax
    while [[ $kind == group ]]; do
        if ((${#words[@]} == 0)); then
            show_own_help >&2
            exit 2
        fi
        take_options
        if ((${#words[@]} == 0)); then refuse "Missing command."; fi
        if ! find_command "$command ${words[0]}"; then refuse_command "${words[0]}"; fi
        words=("${words[@]:1}")
    done
    take_options
    check_arguments
}

# The laboratory takes `last` where --resume names no run.
name_last_runs() {
    local word is_resume=
    for word in "$@" ''; do
        if [[ -n $is_resume && ! $word =~ ^(last|[0-9][0-9a-f-]*)$ ]]; then words+=(last); fi
        words+=("$word")
        if [[ $word == --resume ]]; then is_resume=yes; else is_resume=; fi
    done
    unset 'words[-1]'
}

# Sets `command` and what it takes where there is such a command.
find_command() {
    local fields field
    while IFS=$'\t' read -ra fields; do
        if [[ ${fields[0]} != "$1" ]]; then continue; fi
        command=$1 kind=${fields[1]} options=() arguments=()
        for field in "${fields[@]:2}"; do
            if [[ $field == *:* ]]; then arguments+=("$field"); else options+=("$field"); fi
        done
        return
    done <"$root/setup/words.txt"
    return 1
}

# Takes the options from `words`: for a group those before the first other word, which remains.
take_options() {
    local word
    while ((${#words[@]} > 0)); do
        word=${words[0]}
        if [[ $kind == group && $word != -?* ]]; then return; fi
        words=("${words[@]:1}")
        case $word in
            --) break ;;
            --*) take_long "$word" ;;
            -?*) take_letters "$word" ;;
            *) free+=("$word") ;;
        esac
    done
    if [[ $kind != group ]]; then free+=("${words[@]}"); fi
}

take_long() {
    local name=${1%%=*} option
    option=$(option_called "$name") || refuse_option "$name"
    given+=" $name "
    if [[ $option == *= ]]; then
        if [[ $1 != *=* ]]; then take_value "$name"; fi
    elif [[ $1 == *=* ]]; then
        refuse_plainly "Option $(as_python "$name") does not take a value."
    fi
}

# Letters behind one hyphen are an option each, up to one that takes the rest as its value.
take_letters() {
    local letters=${1#-} name option
    while [[ -n $letters ]]; do
        name=-${letters:0:1} letters=${letters:1}
        option=$(option_called "$name") || refuse "No such option: $(escaped "$name")"
        given+=" $name "
        if [[ $option == *= ]]; then
            if [[ -z $letters ]]; then take_value "$name"; fi
            return
        fi
    done
}

take_value() {
    if ((${#words[@]} == 0)); then refuse_plainly "Option $(as_python "$1") requires an argument."; fi
    words=("${words[@]:1}")
}

# The name, with `=` where the option that is called so takes a value.
option_called() {
    local option names name
    for option in "${options[@]}"; do
        IFS=, read -ra names <<<"${option#!}"
        for name in "${names[@]}"; do
            if [[ ${name%=} == "$1" ]]; then printf '%s' "$name" && return; fi
        done
    done
    return 1
}

# What was to be given and was not, arguments first, and then what is too much.
check_arguments() {
    local argument how_many name option names is_given place=0 extra=''
    for argument in "${arguments[@]}"; do
        IFS=: read -r _ how_many name <<<"$argument"
        if [[ $argument == !* ]] && ((place >= ${#free[@]})); then refuse "Missing argument $name."; fi
        if ((how_many < 0)); then place=${#free[@]}; else ((place += how_many)); fi
    done
    for option in "${options[@]}"; do
        if [[ $option != !* ]]; then continue; fi
        is_given=
        IFS=, read -ra names <<<"${option#!}"
        for name in "${names[@]%=}"; do if [[ $given == *" $name "* ]]; then is_given=yes; fi; done
        printf -v name " / '%s'" "${names[@]%=}"
        if [[ -z $is_given ]]; then refuse "Missing option ${name# / }."; fi
    done
    for name in "${free[@]:place}"; do extra+=" $(escaped "$name")"; done
    if [[ -n $extra ]]; then refuse "Got unexpected extra argument(s) (${extra# })"; fi
}

refuse_option() {
    local option near all='' names
    for option in "${options[@]}"; do all+=,${option#!}; done
    IFS=, read -ra names <<<"${all//=/}"
    near=$(nearest "$1" "${names[@]:1}" | LC_ALL=C sort | paste -s -d ,)
    refuse "No such option: $(escaped "$1")${near:+ (Possible options: ${near//,/, })}"
}

# Of the program's own commands old spellings are called what they are now, and none is named that nobody is to type.
refuse_command() {
    local words near='' kind name names=()
    local -A now=()
    while IFS=$'\t' read -r words kind _; do
        name=${words#"$command "}
        if [[ $name == "$words" || $name == *' '* || $kind == internal ]]; then continue; fi
        names+=("$name")
        now[$name]=$name
        if [[ $kind == 'now '* ]]; then now[$name]=${kind#now }; fi
    done <"$root/setup/words.txt"
    while IFS= read -r name; do
        if [[ $near != *"'${now[$name]}'"* ]]; then near+=", '${now[$name]}'"; fi
    done < <(nearest "$1" "${names[@]}")
    refuse "No such command $(as_python "$1").${near:+ Did you mean ${near#, }?}"
}

# The sentence below how the command is used.
refuse() {
    local line
    while IFS= read -r line && [[ -n $line ]]; do printf '%s\n' "$line" >&2; done < <(show_own_help)
    printf "Try '%s --help' for help.\n\n" "$command" >&2
    refuse_plainly "$1"
}

show_own_help() {
    local own
    read -ra own <<<"${command#tlstax}"
    show_help "${own[@]}"
}

refuse_plainly() {
    printf 'Error: %s\n' "$1" >&2
    exit 2
}

# Without what would steer the terminal.
escaped() {
    local text=$1 character place code
    if [[ $text != *[[:cntrl:]]* ]]; then printf '%s' "$text" && return; fi
    for ((place = 0; place < ${#text}; place++)); do
        character=${text:place:1}
        if [[ $character == [[:cntrl:]] ]]; then
            printf -v code '%d' "'$character"
            printf '\\x%02x' "$code"
        else
            printf '%s' "$character"
        fi
    done
}

# In quotation marks, as Python's repr() has them.
as_python() {
    local text=${1//\\/\\\\} mark="'"
    if [[ $text == *"'"* ]]; then
        if [[ $text == *'"'* ]]; then text=${text//\'/\\\'}; else mark='"'; fi
    fi
    text=${text//$'\n'/\\n} text=${text//$'\r'/\\r} text=${text//$'\t'/\\t}
    printf '%s%s%s' "$mark" "$(escaped "$text")" "$mark"
}

# The names that are nearest to a word, three at most, a line each, as Python's difflib.get_close_matches() finds them: of those whose
# letters agree by three fifths the ones that agree most, and of equals the last in the order of letters.
nearest() {
    local word=$1 name alike='' ranked='' LC_ALL=C
    shift
    for name in "$@"; do
        if ((10 * (${#name} < ${#word} ? ${#name} : ${#word}) < 3 * (${#name} + ${#word}))); then continue; fi
        alike=0
        count_alike "$name" "$word"
        if ((10 * alike >= 3 * (${#name} + ${#word}))); then
            ranked+="$((2000000 * alike / (${#name} + ${#word}))) $name"$'\n'
        fi
    done
    sort -k 1,1nr -k 2,2r <<<"${ranked%$'\n'}" | head -n 3 | cut -s -d ' ' -f 2
}

# Adds to `alike` how many letters of both words agree: in the longest row that both have, and in what is before and behind it.
count_alike() {
    # `before` and `now` have the lengths of the rows that end with a letter of the first word, by how many letters of the second they
    # end after.
    local a=$1 b=$2 i j length best=0 end_a=0 end_b=0 before=() now
    for ((i = 0; i < ${#a}; i++)); do
        now=()
        for ((j = 0; j < ${#b}; j++)); do
            if [[ ${a:i:1} != "${b:j:1}" ]]; then continue; fi
            length=$((${before[j]:-0} + 1))
            now[j + 1]=$length
            if ((length > best)); then best=$length end_a=$((i + 1)) end_b=$((j + 1)); fi
        done
        before=()
        for j in "${!now[@]}"; do before[j]=${now[j]}; done
    done
    if ((best == 0)); then return; fi
    ((alike += best))
    count_alike "${a:0:end_a - best}" "${b:0:end_b - best}"
    count_alike "${a:end_a}" "${b:end_b}"
}
