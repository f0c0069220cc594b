# The rules of DBD::Pg that need no server: the words that it is told, and what its failures mean.
use v5.36;

use Adapter::Failure qw(failure_of);
use Adapter::Postgres;

sub holds ($what, $is) {
    die "does not hold: $what\n" unless $is;
}

sub driver (%changes) {
    return Adapter::Postgres->new({
        name => 'dbd-pg-1.0', endpoint => { kind => 'tcp', host => 'h', port => 1 }, tls => { mode => 'unset' }, options => {},
        account => { user => 'u', password => 'p', database => undef }, channels => [[3, 4]], %changes,
    });
}

sub dsn (%changes) {
    return driver(%changes)->{arguments}[0];
}
holds('nothing is said of TLS', dsn() eq q(dbi:Pg:host='h';port='1'));
holds('a socket', dsn(endpoint => { kind => 'unix', path => '/a b/.s.PGSQL.7' }) eq q(dbi:Pg:host='/a b';port='7'));
my %on = (mode => 'on', verify => 'identity', ca_file => "it's", versions => ['1.0', '1.2']);
holds('TLS that is on', dsn(tls => \%on) eq q(dbi:Pg:host='h';port='1';ssl_max_protocol_version='TLSv1.2';)
    . q(ssl_min_protocol_version='TLSv1';sslmode='verify-full';sslrootcert='it\'s'));
my $told = driver(options => { pg_server_prepare => 0, sslmode => 'allow' });
holds('options', $told->{attributes}{pg_server_prepare} == 0 && $told->{arguments}[0] =~ /sslmode='allow'/);
eval { driver(channels => [[3, 4], [5, 6]]) };
holds('a second connection', $@->{kind} eq 'bad_job');

sub failure ($words, $state) {
    return failure_of("DBD::Pg::db do failed: $words", 7, $words, $state);
}
my $missing = failure('relation does not exist', '42P01');
holds('an error of the server', $missing->{kind} eq 'server_error' && $missing->answer->{failure}{code} eq '42P01');
holds('a password', failure('FATAL: password authentication failed', '08006')->{kind} eq 'access_denied');
holds('no TLS', failure('server does not support SSL, but SSL was required', '08006')->{kind} eq 'no_tls');
holds('a server that goes', failure('terminating connection', '57P01')->is_lost);
