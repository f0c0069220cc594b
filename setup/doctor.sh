# What `tlstax doctor` says before set-up: what is here of what set-up needs, and how it would get the rest.
# shellcheck shell=bash disable=SC2154  # the variables of places.sh and system.sh

# Prints all checks, in the form of the laboratory's own doctor; with --json as its document.
describe_set_up() {
    # shellcheck source=setup/debian.sh
    source "$root/setup/debian.sh"
    # shellcheck source=setup/system.sh
    source "$root/setup/system.sh"
    names=() statuses=() founds=() meanings=() remedies=()
    pip=
    if [[ -e /proc/self/stat ]]; then
        look_for_needs
        check_room
        check_python
        check_compilers
        check_apt
    else # nor can this shell look at the rest
        check /proc missing "${untrusted%%;*}" "Nothing can be measured." "${untrusted#*; }"
    fi
    check "set-up" limited "not done yet" "Processors, counters, network and the rest are looked at once it is." \
        "tlstax run, which sets up what is missing and then measures"
    if [[ " $* " == *" --json "* ]]; then print_json; else print_text; fi
}

check() { names+=("$1") statuses+=("$2") founds+=("$3") meanings+=("$4") remedies+=("${5-}"); }

check_room() {
    local there=$cache free_mb
    while [[ ! -e $there ]]; do there=$(dirname -- "$there"); done
    free_mb=$(df --output=avail -m -- "$there" | tail -n 1)
    free_mb=${free_mb// /}
    local trial=$there/.tlstax-$$.trial
    if [[ ! -w $there ]] || ! { mkdir -- "$trial" && rmdir -- "$trial"; } 2>/dev/null; then
        check disk missing "$there may not be written to" "Nothing can be set up." \
            "make it writable, or name another folder with TLSTAX_CACHE"
    elif [[ -n $untrusted ]]; then
        check disk missing "${untrusted%%;*}" "Nothing that is kept there is run." "${untrusted#*; }"
    elif ((free_mb < 3000)); then
        check disk limited "$free_mb MB free for $cache" "Set-up and a first server take up to 3 GB." \
            "make room, or name a folder on another disk with TLSTAX_CACHE"
    else
        check disk ok "$free_mb MB free for $cache" "Set-up and servers fit."
    fi
}

check_python() {
    if is_missing python; then
        check Python missing "no Python $minimum_python with its venv module" "The laboratory cannot be set up$(unless_apt)." \
            "as root: apt-get update && apt-get install python3-venv"
    elif is_missing venv; then
        check Python limited "Python without ensurepip" "Set-up $(gets "python3-venv" "pip")."
    else
        check Python ok "${python:-set up already}" "The laboratory can be set up."
    fi
}

check_compilers() {
    if is_missing rust; then
        check Rust limited "none of $minimum_rust or newer (found $newest_rust)" "Set-up $(gets "a newer one" "a newer one")."
    else
        check Rust ok "${rust:-not needed: the engine is built}" "The load engine can be built."
    fi
    if is_missing cc; then
        check "C compiler" limited "no cc" "Set-up $(gets "gcc" "gcc")."
    else
        check "C compiler" ok "$(type -P cc || echo "not needed: the engine is built")" "The load engine can be linked."
    fi
}

check_apt() {
    local program missing=()
    for program in apt-get apt-cache dpkg-deb; do
        if ! type -P "$program" >/dev/null; then missing+=("$program"); fi
    done
    if ((${#missing[@]} > 0)); then
        check apt missing "no ${missing[*]}" "What is missing has to be installed by hand, and no server can be fetched." \
            "a Debian machine, or a mysqld or mariadbd of your own"
    else
        check apt ok "$(type -P apt-get)" "What is missing can be fetched, and its signature checked."
    fi
}

unless_apt() { if can_install; then printf ' until apt has installed one'; fi; }
can_install() { is_root && type -P apt-get >/dev/null; }

# How set-up comes by something: as root by installing package $1, else by fetching $2 into the cache.
gets() {
    if can_install; then
        printf 'installs %s by apt' "$1"
    elif type -P apt-get >/dev/null && type -P dpkg-deb >/dev/null; then
        printf 'fetches %s from Debian into the cache' "$2"
    else
        printf 'cannot get %s here: install it by hand' "$2"
    fi
}

print_text() {
    local place margin=0 name line width=${COLUMNS:-100} indent
    for name in "${names[@]}"; do if ((${#name} > margin)); then margin=${#name}; fi; done
    ((margin += 2))
    printf -v indent '%*s' "$((9 + margin))" ''
    for place in "${!names[@]}"; do
        printf -v line '%-9s%-*s' "${statuses[place]}" "$margin" "${names[place]}"
        printf '%s%s\n' "$line" "${founds[place]}"
        if [[ ${statuses[place]} == ok ]]; then continue; fi
        wrap "$indent" "$((width - ${#indent}))" "${meanings[place]}"
        if [[ -n ${remedies[place]} ]]; then
            wrap "$indent" "$((width - ${#indent}))" "What would help: ${remedies[place]}."
        fi
    done
}

wrap() {
    local line
    fold -s -w "$(($2 > 20 ? $2 : 20))" <<<"$3" | while IFS= read -r line; do printf '%s%s\n' "$1" "${line% }"; done
}

print_json() {
    local place comma=
    printf '{\n  "schema": 1,\n  "checks": ['
    for place in "${!names[@]}"; do
        printf '%s\n    {"name": %s, "status": %s, "found": %s, "meaning": %s, "remedy": %s}' "$comma" \
            "$(quoted "${names[place]}")" "$(quoted "${statuses[place]}")" "$(quoted "${founds[place]}")" \
            "$(quoted "${meanings[place]}")" "$(quoted "${remedies[place]}")"
        comma=,
    done
    printf '\n  ]\n}\n'
}

# A JSON string (RFC 8259, section 7); control characters do not come in what is said here but in paths.
quoted() {
    local text=${1//\\/\\\\}
    text=${text//\"/\\\"}
    printf '"%s"' "${text//[[:cntrl:]]/ }"
}
