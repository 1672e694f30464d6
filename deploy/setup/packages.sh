# Debian/Ubuntu packages, when we are root or may become root without a password. Sourced by the other scripts.
install_packages() {
    local become=()
    if [ "$(id -u)" -ne 0 ]; then
        sudo -n true 2>/dev/null || return 1
        become=(sudo -n)
    fi
    command -v apt-get >/dev/null || return 1
    echo "Installing $* ..."
    "${become[@]}" apt-get update -qq >/dev/null || true
    "${become[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -o DPkg::Lock::Timeout=300 install \
        -y -qq --no-install-recommends "$@" >/dev/null
}
