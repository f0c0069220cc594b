# Where this checkout's Python environment and load engine lie in the user's cache; costs milliseconds.
#
# Both are kept under a hash of what they were made from, so that switching branches finds the right
# one and nothing is made twice. Sets, for whoever sources this file:
#   root, requirements       the checkout, and the requirement file in it that is asked for
#   cache                    the folder of all that tlstax keeps: TLSTAX_CACHE, or tlstax in XDG_CACHE_HOME
#   compiler                 the folder of a compiler that was fetched because the machine has none
#   environment, engine      the virtual environment's folder and the engine's path; "" if not made yet
#   environment_key, engine_key   the names that they have or will have in the cache
#   untrusted                why nothing may be run from there, in a sentence, such as that others could have put it there; or ""
# shellcheck shell=bash

say() { printf 'tlstax: %s\n' "$*" >&2; }

# Ends with status 3: the machine is at fault, and the sentence says what to do.
fail() {
    say "$@"
    exit 3
}

find_places() {
    root=$1 requirements=$2
    if [[ -z ${HOME:-} ]]; then
        unset HOME # so that ~ is taken from the account
        export HOME=~
    fi
    local base=${XDG_CACHE_HOME:-}
    # The XDG specification wants a relative path ignored.
    if [[ $base != /* ]]; then base=${HOME%/}/.cache; fi
    cache=${TLSTAX_CACHE:-$base/tlstax}
    if [[ $cache != /* ]]; then cache=$PWD/$cache; fi
    compiler=$cache/compiler

    local sums
    sums=$(cd -- "$root" && hash_sources) || fail "cannot read the files in $root: is the clone complete?"
    environment_key=${sums:0:20}-$HOSTTYPE
    # What a bundle carries lacks what only a clone uses.
    if is_bundle; then environment_key=${sums:0:20}-bundle-$HOSTTYPE; fi
    sums=$(sha256sum <<<"${sums#*$'\n'}")
    engine_key=${sums:0:20}-$HOSTTYPE
    find_environment
    find_engine
    look_for_others
}

# What the command in these words needs: Ray only where other machines are asked for, since it is larger than all the rest;
# DuckDB for Parquet alone, which --format or else the name of an export's file asks for, Datasette to explore.
requirements_for() {
    local word before='' by_name='' command="${1-} ${2-}"
    if [[ ${1-} == machines ]]; then set -- --ray; fi
    case $command in
        'runs explore' | 'explore '*) printf 'setup/requirements-explore.txt' && return ;;
    esac
    for word in "$@"; do
        case $before$word in
            --ray | --ray=*) printf 'setup/requirements-ray.txt' && return ;;
            --format=parquet) printf 'setup/requirements-parquet.txt' && return ;;
            --format=*) command='' ;;
            --output=*.[Pp][Aa][Rr][Qq][Uu][Ee][Tt] | -o*.[Pp][Aa][Rr][Qq][Uu][Ee][Tt]) by_name=1 ;;
            --) break ;;
        esac
        before=
        case $word in
            --format | --output) before=$word= ;;
            -o) before=-o ;;
        esac
    done
    if [[ $by_name && $command == 'runs export' ]]; then printf 'setup/requirements-parquet.txt' && return; fi
    printf 'setup/requirements.txt'
}

# One line for the requirement file, then one for each source of the engine, in a fixed order.
hash_sources() {
    local LC_ALL=C file
    local files=("$requirements")
    shopt -s globstar nullglob
    for file in engine/* engine/.cargo/* engine/crates/**/*; do
        # What only tests compile makes no other engine.
        if [[ -f $file && $file != engine/crates/*/tests/* && $file != engine/crates/@(properties|test_server)/* ]]; then
            files+=("$file")
        fi
    done
    sha256sum -- "${files[@]}"
}

# The marker `complete` is written last; a Python that was removed since makes the environment useless.
find_environment() {
    local marker
    environment=
    for marker in "$cache/environments/$environment_key"-python*/complete; do
        if [[ -e $marker && -x ${marker%/*}/bin/python ]]; then
            environment=${marker%/*}
            return
        fi
    done
}

# TLSTAX_ENGINE names an engine that was built elsewhere.
find_engine() {
    engine=${TLSTAX_ENGINE:-$cache/engines/$engine_key/tlstax-engine}
    if [[ -x $engine ]]; then return; fi
    if [[ -n ${TLSTAX_ENGINE:-} ]]; then
        fail "TLSTAX_ENGINE is $TLSTAX_ENGINE, which is not a program: correct it, or unset it"
    fi
    engine=
}

# Sets `untrusted`. What is run lies in folders that are this user's or root's, and that nobody else may write to, nor to any
# above them, as sshd has it of authorized_keys (sshd(8)). Python does the same for what it runs (support/trusted.py).
look_for_others() {
    local physical='' own_engine='' entry paths=() programs=("$cache/environments" "$cache/engines")
    untrusted=
    if [[ ! -e /proc/self/stat ]]; then
        untrusted="/proc is not mounted, and without it no process can be watched; as root, \`mount -t proc proc /proc\`, or let"
        untrusted+=" the container have it"
        return
    fi
    if [[ -d $cache ]]; then physical=$(cd -P -- "$cache" 2>/dev/null && pwd -P) || true; fi
    add_with_parents "$cache"
    if [[ -n $physical && $physical != "$cache" ]]; then add_with_parents "$physical"; fi
    if [[ -n ${TLSTAX_ENGINE:-} ]]; then
        own_engine=$(readlink -f -- "$TLSTAX_ENGINE")
        add_with_parents "$own_engine"
    elif [[ -n $engine ]]; then
        programs+=("${engine%/*}" "$engine")
    fi
    if [[ -n $environment ]]; then
        programs+=("$environment" "$environment"/{bin,bin/python,lib} "$environment"/lib/*/site-packages)
    fi
    if [[ -e $compiler/complete ]]; then programs+=("$compiler" "$compiler"/{bin,lib,root}); fi
    # One program for all of them; what is not there (yet) is left out.
    while IFS= read -r -d '' entry; do
        if ! is_trusted "$entry"; then return; fi
    done < <(stat -L --printf '%u %U %G %a %n\0' -- "${paths[@]}" "${programs[@]}" 2>/dev/null)
}

add_with_parents() {
    local path=$1
    while [[ -n $path ]]; do
        paths+=("$path")
        path=${path%/*}
    done
    paths+=(/)
}

# Whether a line of stat's is of what only we and root may change; sets `untrusted` where it is not.
is_trusted() {
    local owner user group mode name me deep='' remedy='TLSTAX_CACHE to a path of your own'
    read -r owner user group mode _ <<<"$1"
    name=${1#"$owner $user $group $mode "}
    if is_above "$name" "$own_engine/" && ! is_above "$name" "$cache/." && ! is_above "$name" "$physical/."; then
        remedy='TLSTAX_ENGINE to a path of your own'
    fi
    if ((owner != EUID && owner != 0)) && ! is_unmapped "$owner" "$name"; then
        if [[ $user == UNKNOWN ]]; then user="the user $owner"; fi
        me=$(id -un -- "$EUID" 2>/dev/null) || me="the user $EUID"
        untrusted="$name belongs to $user, and what is kept there would be run as $me;"
        untrusted+=" start tlstax as $user, or set $remedy"
        return 1
    fi
    if ((!(8#$mode & 8#22))) || may_be_shared "$user" "$group" "$mode" "$name"; then return; fi
    if ! is_above_all "$name"; then deep='-R '; fi
    printf -v untrusted 'others may write to %s, and what is kept there is run; chmod %s %q as its owner, or set %s' \
        "$name" "${deep}go-w" "$name" "$remedy"
    return 1
}

is_above() { [[ $2 == "${1%/}"/?* ]]; }
is_above_all() { is_above "$1" "$cache" || is_above "$1" "$physical" || is_above "$1" "$own_engine"; }

# Whether nobody can replace anything there though others may write to it: by a sticky bit above the cache, as of /tmp, or because
# the group that may is its owner's own, with nobody else in it (many systems give each user one, and make files writable by it).
may_be_shared() {
    local user=$1 group=$2 mode=$3 name=$4
    if ((8#$mode & 8#1000)) && is_above_all "$name"; then return; fi
    ((!(8#$mode & 8#2))) && [[ $user == "$group" && $(getent group "$group") == *: ]]
}

# In a user namespace what belongs to anybody outside shows as the overflow user's (user_namespaces(7)), as root's folders above the
# cache do.
is_unmapped() {
    local length overflow
    if ! is_above_all "$2"; then return 1; fi
    read -r _ _ length </proc/self/uid_map && read -r overflow </proc/sys/kernel/overflowuid || return
    ((length < 4294967295 && $1 == overflow))
}

# Whether this copy of tlstax came in a bundle, which carries all that it needs (`tlstax bundle`).
is_bundle() { [[ -e $root/bundle.txt ]]; }

everything_in_place() { [[ -n $environment && -n $engine ]]; }

# Dates the markers, so that set-up can remove what has not been used for a month.
note_use() {
    { : >"$environment/complete"; } 2>/dev/null || true
    { : >"$cache/engines/$engine_key/used"; } 2>/dev/null || true
    if [[ -e $compiler/complete ]]; then { : >"$compiler/complete"; } 2>/dev/null || true; fi
}
