# What went wrong, in the contract's words, from whatever a driver raised.
package DriverContract::Failure;
use v5.36;

use Exporter 'import';
use JSON::PP ();
use Scalar::Util qw(blessed);

our @EXPORT_OK = qw(bad_job failure_of is_failure);

# Where to look, by the kind of a failure.
my %FAULT = (
    bad_job => 'job', resolve => 'job', connect => 'network', timeout => 'network', not_mysql => 'server',
    server_closed => 'server', server_error => 'server', access_denied => 'job', no_tls => 'server',
    tls_handshake => 'server', certificate => 'server', limits => 'client', internal => 'client',
);

# Numbers by which a login fails: the server's, and CR_AUTH_PLUGIN_CANNOT_LOAD and its like (errmsg.h).
my %LOGIN_REFUSED = map { $_ => 1 } 1044, 1045, 1130, 1251, 1698, 2049, 2059, 2061;

# Kinds by the client library's numbers (errmsg.h).
my %OF_LIBRARY = (
    1040 => 'limits', 2002 => 'connect', 2003 => 'connect', 2005 => 'resolve', 2006 => 'server_closed',
    2013 => 'server_closed', 2055 => 'server_closed', 2007 => 'not_mysql', 2012 => 'not_mysql', 2027 => 'not_mysql',
    2019 => 'bad_job',
);

# A failure; `lost` says that the connection is of no more use.
sub new ($class, %told) {
    return bless { number => undef, lost => 0, %told }, $class;
}

sub is_failure ($error) {
    return blessed($error) && $error->isa(__PACKAGE__);
}

# The event that ends the job.
sub event ($self) {
    return {
        event => 'error', kind => $self->{kind}, fault => $FAULT{ $self->{kind} }, fatal => JSON::PP::true,
        message => $self->{message}, code => $self->{number}, count => 1,
    };
}

# The job asks for what this client cannot do.
sub bad_job ($message) {
    return __PACKAGE__->new(kind => 'bad_job', message => $message);
}

# What a driver died of, with DBI's number and words; the password is cut out of them.
sub failure_of ($error, %about) {
    return $error if is_failure($error);
    my ($number, $words) = ($about{number}, $about{words} // "$error");
    utf8::decode($words) unless utf8::is_utf8($words);
    $words =~ s/\s+/ /g;
    $words =~ s/ at \S+ line \d+\.? ?$//;
    $words =~ s/\Q$about{secret}\E/(the password)/g if length $about{secret};
    my $kind = _kind($number, lc $words);
    return __PACKAGE__->new(
        kind => $kind, message => "$about{title} says: $words", number => $number, lost => $kind ne 'server_error',
    );
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
