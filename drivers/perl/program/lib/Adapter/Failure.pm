# What went wrong, as a kind of the contract's, from whatever a driver raised.
package Adapter::Failure;
use v5.36;

use DBI ();
use Exporter 'import';
use Scalar::Util qw(blessed);

our @EXPORT_OK = qw(bad_job failure_of refuse_more_connections);

# Numbers by which a login fails: the server's, and CR_AUTH_PLUGIN_CANNOT_LOAD and its like (errmsg.h).
my %LOGIN_REFUSED = map { $_ => 1 } 1044, 1045, 1130, 1251, 1698, 2049, 2059, 2061;

# Kinds by the client library's numbers (errmsg.h).
my %OF_LIBRARY = (
    1040 => 'limits', 2002 => 'connect', 2003 => 'connect', 2005 => 'resolve', 2006 => 'server_closed',
    2013 => 'server_closed', 2055 => 'server_closed', 2007 => 'not_mysql', 2012 => 'not_mysql', 2027 => 'not_mysql',
    2019 => 'bad_job',
);

# Kinds by libpq's words, the first that fits.
my @OF_LIBPQ = (
    [access_denied => qr/authentication failed|no pg_hba\.conf entry|no password supplied/],
    [no_tls => qr/server does not support SSL/],
    [bad_job => qr/invalid connection option|invalid sslmode value|missing "=" after/],
    [certificate => qr/certificate/],
    [tls_handshake => qr/SSL/],
    [resolve => qr/could not translate host name/],
    [connect => qr/Connection refused|No such file/],
);

# A failure: its kind, the driver's words or (`by`) the adapter's own, and MySQL's number.
sub new ($class, %told) {
    return bless { number => undef, by => 'driver', %told }, $class;
}

# Whether the connection is of no more use.
sub is_lost ($self) {
    return $self->{kind} ne 'server_error';
}

# What is answered to the host.
sub answer ($self) {
    return { failure => { kind => $self->{kind}, words => $self->{words}, code => $self->{number}, by => $self->{by} } };
}

# The job asks for what this driver cannot do.
sub bad_job ($words) {
    return __PACKAGE__->new(kind => 'bad_job', words => $words, by => 'adapter');
}

# Dies where the job asks for more connections than a process of Perl has at work.
sub refuse_more_connections ($setup) {
    die bad_job('connections: a process of Perl has one connection at work, so this driver keeps one')
        if @{ $setup->{channels} } != 1;
}

# What was died of just now; DBI has the number and the words of its own errors.
sub failure_of ($error, $number = $DBI::err, $words = $DBI::errstr, $state = $DBI::state) {
    return $error if blessed($error) && $error->isa(__PACKAGE__);
    my $is_dbis = $error =~ /^DB[DI]/;
    return _of_postgres($words // "$error", $state // '') if $error =~ /^DBD::Pg|^DBI connect\('.*sslmode|^DBI connect\('.*host='/;
    $number = $is_dbis && $number ? 0 + $number : undef;
    $words = "$error" unless $is_dbis && defined $words;
    utf8::decode($words) unless utf8::is_utf8($words);
    $words =~ s/ at \S+ line \d+\.?\s*$//;
    return __PACKAGE__->new(kind => _kind($number, lc $words), words => $words, number => $number);
}

# PostgreSQL's errors have a SQLSTATE; what libpq says itself has class 08 whatever it is, and its words.
sub _of_postgres ($words, $state) {
    $words =~ s/\s+/ /g;
    if ($state !~ /^(?:08|S1|$)/) {
        my $kind = $state =~ /^28/ ? 'access_denied' : $state =~ /^57P0[123]/ ? 'server_closed' : $state eq '53300' ? 'limits' : 'server_error';
        return __PACKAGE__->new(kind => $kind, words => $words, number => $state);
    }
    for my $known (@OF_LIBPQ) {
        return __PACKAGE__->new(kind => $known->[0], words => $words) if $words =~ $known->[1];
    }
    return __PACKAGE__->new(kind => 'server_closed', words => $words);
}

sub _kind ($number, $words) {
    return $words =~ /attribute/ ? 'bad_job' : 'internal' unless $number;
    return 'access_denied' if $LOGIN_REFUSED{$number};
    return _kind_of_tls($words) if $number == 2026 || $number == 2002 && $words =~ /\b(?:ssl|tls|certificate)\b/;
    return $OF_LIBRARY{$number} if $OF_LIBRARY{$number};
    return 'server_error' if $number < 2000 || $number >= 3000;
    return $words =~ /authentication|public key/ ? 'access_denied' : 'server_closed';
}

# The client library has one number for all that goes wrong with TLS, and its words.
sub _kind_of_tls ($words) {
    return 'no_tls' if $words =~ /server does not support/;
    return 'bad_job' if $words =~ /is not supported/;
    return $words =~ /certificate|verif|host ?name/ ? 'certificate' : 'tls_handshake';
}

1;
