# What was negotiated, asked before measuring: the server's word, as DBI's drivers have none of their own.
package DriverContract::Proof;
use v5.36;

use Exporter 'import';
use JSON::PP ();

our @EXPORT_OK = qw(tls_library);

sub new ($class) {
    return bless { server_version => '', negotiated => [] }, $class;
}

# Ask this connection; whether the server says that it is encrypted.
sub ask ($self, $session) {
    $self->{server_version} = $session->shown($session->say('SELECT VERSION()')->[0][0]);
    my $rows = $session->say(q{SHOW SESSION STATUS LIKE 'Ssl%'});
    my $server = $self->_server_view({ map { ($_->[0] => $session->shown($_->[1])) } @$rows });
    push @{ $self->{negotiated} },
        { connections => 1, client => undef, server => $server, client_tells => JSON::PP::false };
    return defined $server;
}

sub _server_view ($self, $said) {
    return undef unless length($said->{Ssl_cipher} // '');
    # MariaDB's Ssl_sessions_reused stays 0 whatever happens.
    my $tells = $self->{server_version} !~ /MariaDB/;
    my $resumed = ($said->{Ssl_sessions_reused} // 0) > 0 ? JSON::PP::true : JSON::PP::false;
    return {
        version => $said->{Ssl_version}, cipher => $said->{Ssl_cipher}, resumed => $tells ? $resumed : undef,
        map { $_ => undef } qw(group hello_retry certificate_key certificate_sha256),
    };
}

# The OpenSSL that is mapped: its paths, and the version that stands in libcrypto; undef if there is not just one.
sub tls_library () {
    my %paths;
    for my $line (split /\n/, _content('/proc/self/maps')) {
        $paths{$2}{$1} = 1 if $line =~ m{(/.*/lib(ssl|crypto)\.so.*)};
    }
    my ($ssl, $crypto) = map { keys %{ $_ // {} } == 1 ? keys %$_ : undef } @paths{qw(ssl crypto)};
    return undef unless defined $ssl && defined $crypto;
    my ($version) = _content($crypto) =~ /(OpenSSL \d+\.\d+\.\d+\S* +\d+ \w{3} \d{4})/;
    return defined $version ? { version => $version, libssl_path => $ssl, libcrypto_path => $crypto } : undef;
}

sub _content ($path) {
    open my $file, '<:raw', $path or return '';
    local $/ = undef;
    return scalar readline $file;
}

1;
