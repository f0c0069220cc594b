# What can be answered before anything is set up: the help, the version, and what set-up would do.
# shellcheck shell=bash disable=SC2154  # the variables of places.sh

# Answers and exits, or returns where the command needs what set-up makes.
answer_unprepared() {
    local asked
    asked=$(what_is_asked "$@")
    if [[ -z $asked && -n $untrusted ]]; then fail "$untrusted"; fi
    if [[ -z $asked || $asked == script || $asked == doctor ]]; then
        # shellcheck source=setup/mistakes.sh
        source "$root/setup/mistakes.sh"
        refuse_mistakes "$@"
    fi
    if [[ -z $asked ]]; then return; fi
    if [[ -n $environment && -z $untrusted ]]; then # the laboratory answers better, and needs no engine for it
        note_use
        start_laboratory "$@"
    fi
    case $asked in
        script) return ;;
        names) ;; # a shell asks at a key press, and is told nothing
        version) head -n 1 -- "$root/setup/help.txt" ;;
        doctor)
            # shellcheck source=setup/doctor.sh
            source "$root/setup/doctor.sh"
            describe_set_up "$@"
            ;;
        help) show_help "$@" ;;
        nothing)
            show_help >&2
            exit 2
            ;;
    esac
    exit 0
}

# `help`, `version`, `doctor`, `script` and `names` of completion, `nothing` where not a word was said, or no answer where more is wanted.
what_is_asked() {
    local argument
    for argument in "$@"; do
        case $argument in
            --help | -h) echo help && return ;;
            --) break ;;
        esac
    done
    case ${1-} in
        '') echo nothing ;;
        --version) echo version ;;
        help) echo help ;;
        completion) echo script ;;
        completion-names) echo names ;;
        # Unpacking a bundle takes seconds, after which the laboratory answers.
        doctor) if ! is_bundle; then echo doctor; fi ;;
    esac
}

# The help of the longest row of words that is a command.
show_help() {
    local heading="==> tlstax" line shown=
    if [[ ${1-} == help ]]; then shift; fi
    while [[ ${1-} == [a-z]* ]] && grep -qxF -- "$heading $1" "$root/setup/help.txt"; do
        heading+=" $1"
        shift
    done
    while IFS= read -r line; do
        if [[ $line == "==> "* ]]; then
            shown=
            if [[ $line == "$heading" ]]; then shown=yes; fi
        elif [[ -n $shown ]]; then
            printf '%s\n' "$line"
        fi
    done <"$root/setup/help.txt"
}
