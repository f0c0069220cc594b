# Where this checkout's Python environment and load engine lie in the user's cache; costs milliseconds.
#
# Both are kept under a hash of what they were made from, so that switching branches finds the right
# one and nothing is made twice. Sets, for whoever sources this file:
#   root, requirements       the checkout, and the requirement file in it that is asked for
#   cache                    the folder of all that tlstax keeps: TLSTAX_CACHE, or tlstax in XDG_CACHE_HOME
#   compiler                 the folder of a compiler that was fetched because the machine has none
#   environment, engine      the virtual environment's folder and the engine's path; "" if not made yet
#   environment_key, engine_key   the names that they have or will have in the cache
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
}

# What the command in these words needs: Ray only where other machines are asked for, since it is larger than all the rest;
# DuckDB for Parquet alone, Datasette to explore.
requirements_for() {
    local word before=
    if [[ ${1-} == machines ]]; then set -- --ray; fi
    if [[ ${1-} == explore ]]; then printf 'setup/requirements-explore.txt' && return; fi
    for word in "$@"; do
        case $before$word in
            --ray | --ray=*) printf 'setup/requirements-ray.txt' && return ;;
            --format=parquet) printf 'setup/requirements-parquet.txt' && return ;;
            --) break ;;
        esac
        before=
        if [[ $word == --format ]]; then before=--format=; fi
    done
    printf 'setup/requirements.txt'
}

# One line for the requirement file, then one for each source of the engine, in a fixed order.
hash_sources() {
    local LC_ALL=C file
    local files=("$requirements")
    shopt -s globstar nullglob
    for file in engine/* engine/.cargo/* engine/crates/**/*; do
        if [[ -f $file ]]; then files+=("$file"); fi
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

# Whether this copy of tlstax came in a bundle, which carries all that it needs (`tlstax bundle`).
is_bundle() { [[ -e $root/bundle.txt ]]; }

everything_in_place() { [[ -n $environment && -n $engine ]]; }

# Dates the markers, so that set-up can remove what has not been used for a month.
note_use() {
    { : >"$environment/complete"; } 2>/dev/null || true
    { : >"$cache/engines/$engine_key/used"; } 2>/dev/null || true
    if [[ -e $compiler/complete ]]; then { : >"$compiler/complete"; } 2>/dev/null || true; fi
}
