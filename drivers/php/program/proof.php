<?php // What was negotiated, asked before measuring: the server's word, as mysqlnd has none of its own.

declare(strict_types=1);

namespace DriverContract;

/** What connections said, counted. */
final class Proof
{
    public string $serverVersion = '';
    private array $views = [];

    /** Ask this connection; the TLS version that the server reports of it, null in the clear. */
    public function ask(Session $session): ?string
    {
        $this->serverVersion = (string) $session->say('SELECT VERSION()')[0][0];
        $said = array_column($session->say("SHOW SESSION STATUS LIKE 'Ssl%'"), 1, 0);
        $view = $this->serverView($said);
        $this->views[] = $view;
        return $view['version'] ?? null;
    }

    /** The contract's `negotiated`. */
    public function negotiated(): array
    {
        $negotiated = [];
        foreach ($this->views as $view) {
            $known = json_encode($view);
            $negotiated[$known] ??= ['connections' => 0, 'client' => null, 'server' => $view, 'client_tells' => false];
            ++$negotiated[$known]['connections'];
        }
        return array_values($negotiated);
    }

    private function serverView(array $said): ?array
    {
        if (($said['Ssl_cipher'] ?? '') === '') {
            return null;
        }
        // MariaDB's Ssl_sessions_reused stays 0 whatever happens.
        $tells = !str_contains($this->serverVersion, 'MariaDB');
        return [
            'version' => $said['Ssl_version'], 'cipher' => $said['Ssl_cipher'],
            'resumed' => $tells ? (int) ($said['Ssl_sessions_reused'] ?? 0) > 0 : null,
            'group' => null, 'hello_retry' => null, 'certificate_key' => null, 'certificate_sha256' => null,
        ];
    }
}

/** The OpenSSL that is mapped: its paths, and the version that stands in libcrypto; null if there is not just one. */
function tlsLibrary(): ?array
{
    preg_match_all('~/.*/lib(ssl|crypto)\.so.*~', file_get_contents('/proc/self/maps'), $found, PREG_SET_ORDER);
    $paths = array_column($found, 0, 1);
    if (count($paths) !== 2 || count(array_unique(array_column($found, 0))) !== 2) {
        return null;
    }
    $isThere = preg_match('/OpenSSL \d+\.\d+\.\d+\S* +\d+ \w{3} \d{4}/', file_get_contents($paths['crypto']), $version);
    return $isThere !== 1 ? null : [
        'version' => $version[0], 'libssl_path' => $paths['ssl'], 'libcrypto_path' => $paths['crypto'],
    ];
}
