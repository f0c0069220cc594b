# What the machine itself must have, and where its Python and its Rust are. What is missing, apt installs where it may;
# an ordinary user gets it into the cache.
# shellcheck shell=bash disable=SC2034,SC2154  # variables of places.sh, and some for the other steps

minimum_python="3.11"
minimum_rust="1.85"

# Sees that nothing is missing, or ends with one sentence that says what to install. Takes further programs that are
# wanted, each as program=package.
provide_system_packages() {
    look_for_needs "$@"
    if ((${#lacks[@]} + ${#wanted[@]} > 0)) && type -P apt-get >/dev/null; then
        if is_root; then
            install_what_is_missing
            look_for_needs "$@"
        elif ((${#lacks[@]} > 0)); then
            fetch_what_is_missing
            look_for_needs "$@"
        fi
    fi
    if ((${#lacks[@]} > 0)); then fail_for_want; fi
    if ((${#wanted[@]} > 0)); then
        say "going on without some Debian packages, so not everything will work" \
            "(as root, apt-get install ${wanted[*]})"
    fi
}

install_what_is_missing() {
    # The package lists of a new machine are empty or old; if they cannot be renewed, the old ones may do.
    step "renewing apt's package lists" unseen "${apt_as_root[@]}" update || true
    name_packages
    if ((${#needed[@]} > 0)); then
        step "installing Debian packages: ${needed[*]}" install_packages "${needed[@]}" ||
            fail_step "installing Debian packages (${needed[*]})"
    fi
    # Apart, because a release that lacks one of them can still do without.
    if ((${#wanted[@]} > 0)); then
        step "installing Debian packages: ${wanted[*]}" install_packages "${wanted[@]}" || true
    fi
}

apt_as_root=(env DEBIAN_FRONTEND=noninteractive apt-get --yes --no-install-recommends -o DPkg::Lock::Timeout=300)

install_packages() {
    unseen "${apt_as_root[@]}" install --download-only "$@" && unseen_whole "${apt_as_root[@]}" install "$@"
}

# For an ordinary user: all of it, or nothing where one thing cannot be fetched.
fetch_what_is_missing() {
    if ! type -P dpkg-deb >/dev/null; then
        name_packages
        return
    fi
    step "reading the package lists of this machine's release" begin_private_apt ||
        fail_step "reading the package lists of this machine's release$(as_root_instead)"
    name_packages
    if is_missing python || { is_missing rust && ((${#rust_packages[@]} == 0)); }; then return; fi
    local compilers=()
    if is_missing rust; then compilers+=("${rust_packages[@]}"); fi
    if is_missing rust || is_missing cc; then
        compilers+=("${c_packages[@]}")
        step "fetching a compiler from Debian into the cache ($(megabytes_of "${compilers[@]}") MB, once)" \
            fetch_compiler "${compilers[@]}" || fail_step "fetching a compiler$(as_root_instead)"
    fi
    if is_missing venv; then
        step "fetching pip from Debian" fetch_pip || fail_step "fetching pip$(as_root_instead)"
    fi
    end_private_apt
}

as_root_instead() {
    name_packages
    printf ' (instead of it, as root: apt-get update && apt-get install %s)' "${needed[*]}"
}

is_root() { [[ $(id --user) == 0 ]]; }

is_missing() { [[ " ${lacks[*]} " == *" $1 "* ]]; }

# Sets `lacks`, without which nothing works (python, venv, rust, cc), and `wanted`, packages without which less works.
look_for_needs() {
    lacks=() wanted=()
    if [[ -z $environment ]]; then look_for_python; fi
    if [[ -z $engine || -n ${needs_rust-} ]]; then look_for_rust; fi
    want_program setpriv util-linux
    want_program dpkg-deb dpkg
    want_file /usr/share/keyrings/debian-archive-keyring.gpg debian-archive-keyring
    want_file "${SSL_CERT_FILE:-/etc/ssl/certs/ca-certificates.crt}" ca-certificates
    if ! has_library libssl.so.3; then wanted+=(libssl3); fi
    local program
    for program in "$@"; do want_program "${program%=*}" "${program#*=}"; done
}

want_program() { if ! type -P "$1" >/dev/null; then wanted+=("$2"); fi; }
want_file() { if [[ ! -e $1 ]]; then wanted+=("$2"); fi; }
has_library() { PATH=$PATH:/sbin:/usr/sbin ldconfig -p 2>/dev/null | grep -F "$1 " >/dev/null; }

c_packages=(gcc libc6-dev)

# Sets `needed`, the packages that give what is lacking, as far as the release has it; `rust_packages` are those of Rust.
name_packages() {
    needed=() rust_packages=()
    if is_missing venv || { is_missing python && at_least "$minimum_python" "$(apt_version python3)"; }; then
        needed+=(python3-venv)
    fi
    if is_missing cc; then needed+=("${c_packages[@]}"); fi
    if is_missing rust; then
        name_rust_packages
        needed+=("${rust_packages[@]}")
    fi
}

# Debian 12 has a newer Rust beside its own for web browsers; Ubuntu has newer ones with the version in the name.
name_rust_packages() {
    local names name
    names=$(apt_cache pkgnames rustc | grep -xE 'rustc(-web|-[0-9.]+)?' | sort -V)
    for name in $names; do
        if at_least "$minimum_rust" "$(apt_version "$name")"; then
            rust_packages=("$name" "cargo${name#rustc}")
            return
        fi
    done
    # Lists that were never fetched name nothing, and the sentence about what is missing must.
    if [[ -z $names ]] && grep -qs bookworm /etc/os-release; then
        rust_packages=(rustc-web cargo-web)
    elif [[ -z $names ]]; then
        rust_packages=(rustc cargo)
    fi
}

# Ends with a sentence that names all that is lacking, and the one command that would help where there is one.
fail_for_want() {
    local words=() remedy
    if is_missing python || is_missing venv; then words+=("Python $minimum_python or newer with its venv module"); fi
    if is_missing rust; then words+=("Rust $minimum_rust or newer to build its load engine (found $newest_rust)"); fi
    if is_missing cc; then words+=("a C compiler"); fi
    printf -v remedy ', %s' "${words[@]}"
    if ! type -P apt-get >/dev/null; then
        fail "cannot be set up on this machine yet: it needs ${remedy#, }, and there is no apt to get what is" \
            "missing from; install it by this machine's own means and start again"
    fi
    name_packages
    local by_apt=() by_hand=()
    if ((${#needed[@]} > 0)); then by_apt=("as root: apt-get update && apt-get install ${needed[*]}"); fi
    if is_missing python && [[ " ${needed[*]} " != *" python3-venv "* ]]; then
        by_hand+=("this release has no such Python")
    fi
    if is_missing rust && ((${#rust_packages[@]} == 0)); then
        by_hand+=("rustup toolchain install stable; rustup comes from the Rust project, or from apt in newer releases")
    fi
    printf -v words '; %s' "${by_apt[@]}" "${by_hand[@]}"
    fail "cannot be set up on this machine yet: it needs ${remedy#, } (${words#; })"
}

# Sets `python` to the real path of an interpreter that can make environments, `python_version` to N.M. One without
# ensurepip can, where pip has been fetched. Where `served` has lines, only these versions will do; others that are here
# become `found_pythons`.
look_for_python() {
    local candidate answer ability version path what=python
    while read -r candidate; do
        answer=$("$candidate" -I -c "$describe_python" 2>/dev/null </dev/null) || continue
        read -r ability version path <<<"$answer"
        if [[ -n ${served-} && $'\n'$served$'\n' != *$'\n'$version$'\n'* ]]; then
            found_pythons+=("$version")
            continue
        fi
        if [[ $ability == able || ($ability == no-pip && -n $pip) ]]; then
            python=$path python_version=$version
            return
        fi
        if [[ $ability == no-pip ]]; then what=venv; fi
    done < <(type -aP python3 python3.{14,13,12,11})
    lacks+=("$what")
}

# The name with the version in it vanishes when a newer Python replaces it, and the environment with it.
describe_python='
import os, sys
ability = "none"
try:
    import venv
    ability = "no-pip"
    import ensurepip
    ability = "able"
except ImportError:
    pass
if sys.version_info < (3, 11):
    ability = "old"
path = os.path.realpath(getattr(sys, "_base_executable", sys.executable))
print(ability, "%d.%d" % sys.version_info[:2], path)
'

# Sets `rust`, the folder of a cargo and a rustc that are new enough, and `newest_rust`, the newest one that is not.
look_for_rust() {
    local folder version
    rust='' newest_rust=none
    if ! type -P cc >/dev/null && [[ ! -e $compiler/complete ]]; then lacks+=(cc); fi
    for folder in "$(dirname -- "$(type -P rustc || echo none)")" "${CARGO_HOME:-$HOME/.cargo}/bin" \
        "${RUSTUP_HOME:-$HOME/.rustup}"/toolchains/*/bin /usr/lib/rust-*/bin "$compiler/bin"; do
        if [[ ! -x $folder/rustc || ! -x $folder/cargo ]]; then continue; fi
        version=$(cd -- "$root/engine" && "$folder/rustc" --version 2>/dev/null) || continue
        read -r _ version _ <<<"$version"
        if at_least "$minimum_rust" "$version"; then
            rust=$folder
            return
        fi
        newest_rust=$version
    done
    lacks+=(rust)
}

# Is version $2 at least $1? An empty one is not.
at_least() { [[ -n $2 && $(printf '%s\n' "$1" "$2" | sort -V | head -n 1) == "$1" ]]; }
