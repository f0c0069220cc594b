<?php // libpq's words, which both of PHP's drivers of PostgreSQL hand on.

declare(strict_types=1);

namespace Adapter;

/** Words of libpq's for the endpoint, the account's database and encryption, and the options, which win. */
function libpqWords(object $setup): array
{
    $endpoint = $setup->endpoint;
    if ($endpoint->kind === 'unix') {
        // A socket is its folder, with the port that its name ends with.
        [$folder, $port] = explode('/.s.PGSQL.', $endpoint->path);
        $words = ['host' => $folder, 'port' => $port];
    } else {
        $words = ['host' => $endpoint->host, 'port' => $endpoint->port];
    }
    if ($setup->account->database !== null) {
        $words['dbname'] = $setup->account->database;
    }
    return [...$words, ...libpqTls($setup->tls), ...get_object_vars($setup->options)];
}

function libpqTls(object $tls): array
{
    if ($tls->mode !== 'on') {
        return match ($tls->mode) {
            'off' => ['sslmode' => 'disable'],
            'required' => ['sslmode' => 'require'],
            default => [],
        };
    }
    $mode = ['none' => 'require', 'ca' => 'verify-ca', 'identity' => 'verify-full'][$tls->verify];
    $versions = array_map(static fn (string $one) => str_replace('v1.0', 'v1', "TLSv$one"), $tls->versions);
    return array_filter([
        'sslmode' => $mode,
        'sslrootcert' => $tls->verify === 'none' ? null : $tls->ca_file,
        'sslcert' => $tls->certificate_file,
        'sslkey' => $tls->key_file,
        'ssl_min_protocol_version' => $versions[0] ?? null,
        'ssl_max_protocol_version' => $versions ? $versions[count($versions) - 1] : null,
    ], static fn (?string $word) => $word !== null);
}

/** The words as libpq reads them, with this between two. */
function libpqText(array $words, string $between): string
{
    $quoted = static fn ($name, $word) => "$name='" . addcslashes((string) $word, "\\'") . "'";
    return implode($between, array_map($quoted, array_keys($words), $words));
}

/** What libpq or the server says, by its SQLSTATE or, where there is none, by its words; the first that fits. */
function failureOfPostgres(string $words, ?string $state): Failure
{
    $words = trim((string) preg_replace('/\s+/', ' ', $words));
    if ($state !== null && preg_match('/^(?!08|HY|00)[0-9A-Z]{5}$/', $state)) {
        $kind = match (true) {
            str_starts_with($state, '28') => 'access_denied',
            $state === '53300' => 'limits',
            in_array($state, ['57P01', '57P02', '57P03'], true) => 'server_closed',
            default => 'server_error',
        };
        return new Failure($kind, $words, $state);
    }
    $said = static fn (string $expression) => preg_match("/$expression/", $words) === 1;
    return new Failure(match (true) {
        $said('authentication failed|no pg_hba\.conf entry|no password supplied') => 'access_denied',
        $said('server does not support SSL') => 'no_tls',
        $said('invalid connection option|invalid sslmode value') => 'bad_job',
        $said('certificate') => 'certificate',
        $said('SSL') => 'tls_handshake',
        $said('could not translate host name') => 'resolve',
        $said('Connection refused|No such file') => 'connect',
        default => 'server_closed',
    }, $words);
}
