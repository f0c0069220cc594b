# What the machine itself must have, and where its Python and its Rust are; apt installs the rest where it may.
# shellcheck shell=bash disable=SC2034,SC2154  # variables of places.sh, and some for the other steps

minimum_python="3.11"
minimum_rust="1.85"

# Installs what is missing as root on a Debian-like machine; else says in one line what to install.
# Takes further programs that are wanted, each as program=package.
provide_system_packages() {
    look_for_needs "$@"
    if [[ $EUID == 0 ]] && type -P apt-get >/dev/null; then
        if ((${#needed[@]} > 0)); then
            step "installing Debian packages: ${needed[*]}" install_packages "${needed[@]}" ||
                fail_step "installing Debian packages (${needed[*]})"
        fi
        # Apart, because a release that lacks one of them can still do without.
        if ((${#wanted[@]} > 0)); then
            step "installing Debian packages: ${wanted[*]}" install_packages "${wanted[@]}" || true
        fi
        look_for_needs "$@"
    fi
    if ((${#needed[@]} > 0)); then
        advice+=("it needs more Debian packages (as root, apt-get install ${needed[*]})")
    fi
    if ((${#advice[@]} > 0)); then
        printf -v advice '; %s' "${advice[@]}"
        fail "cannot be set up on this machine yet: ${advice#; }"
    fi
    if ((${#wanted[@]} > 0)); then
        say "going on without some Debian packages, so not everything will work" \
            "(as root, apt-get install ${wanted[*]})"
    fi
}

# The package lists of a new machine are empty or old; if they cannot be renewed, the old ones may do.
install_packages() {
    local apt=(env DEBIAN_FRONTEND=noninteractive apt-get --yes --no-install-recommends -o DPkg::Lock::Timeout=300)
    unseen "${apt[@]}" update || true
    unseen "${apt[@]}" install --download-only "$@" && unseen_whole "${apt[@]}" install "$@"
}

# Sets `needed` and `wanted`, which apt can install, and `advice`, what is needed that apt cannot give.
look_for_needs() {
    needed=() wanted=() advice=()
    if [[ -z $environment ]]; then look_for_python; fi
    if [[ -z $engine ]]; then look_for_rust; fi
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

# Sets `python` to the real path of an interpreter that can make environments, `python_version` to N.M.
look_for_python() {
    local candidate answer ability=none version path
    while read -r candidate; do
        answer=$("$candidate" -I -c "$describe_python" 2>/dev/null </dev/null) || continue
        read -r ability version path <<<"$answer"
        if [[ $ability == able ]]; then
            python=$path python_version=$version
            return
        fi
    done < <(type -aP python3 python3.{14,13,12,11})
    if [[ $ability == no-venv ]] || at_least "$minimum_python" "$(apt_version python3)"; then
        needed+=(python3-venv)
    else
        advice+=("it needs Python $minimum_python or newer with its venv module")
    fi
}

# The name with the version in it vanishes when a newer Python replaces it, and the environment with it.
describe_python='
import os, sys
try:
    import ensurepip, venv
    ability = "able"
except ImportError:
    ability = "no-venv"
if sys.version_info < (3, 11):
    ability = "old"
path = os.path.realpath(getattr(sys, "_base_executable", sys.executable))
print(ability, "%d.%d" % sys.version_info[:2], path)
'

# Sets `rust`, the folder of a cargo and a rustc that are new enough.
look_for_rust() {
    local folder version newest=none
    if ! type -P cc >/dev/null; then needed+=(gcc libc6-dev); fi
    for folder in "$(dirname -- "$(type -P rustc || echo none)")" "${CARGO_HOME:-$HOME/.cargo}/bin" \
        "${RUSTUP_HOME:-$HOME/.rustup}"/toolchains/*/bin /usr/lib/rust-*/bin; do
        if [[ ! -x $folder/rustc || ! -x $folder/cargo ]]; then continue; fi
        version=$(cd -- "$root/engine" && "$folder/rustc" --version 2>/dev/null) || continue
        read -r _ version _ <<<"$version"
        if at_least "$minimum_rust" "$version"; then
            rust=$folder
            return
        fi
        newest=$version
    done
    if at_least "$minimum_rust" "$(apt_version rustc)"; then
        needed+=(cargo rustc)
    else
        advice+=("it needs Rust $minimum_rust or newer to build its load engine, and found $newest\
 (rustup toolchain install stable; rustup comes from the Rust project, or from apt in newer releases)")
    fi
}

# Is version $2 at least $1? An empty one is not.
at_least() { [[ -n $2 && $(printf '%s\n' "$1" "$2" | sort -V | head -n 1) == "$1" ]]; }

# The version of a package that apt would install, "" where there is none or no apt.
apt_version() {
    if ! type -P apt-cache >/dev/null; then return; fi
    LC_ALL=C apt-cache policy "$1" 2>/dev/null | sed -n 's/^ *Candidate: *\([0-9][^+~-]*\).*/\1/p'
}
