# The rules that need no server: options, values, failures, and the orders over a driver that has none.
use v5.36;

use Adapter::Channel;
use Adapter::Driver;
use Adapter::Failure qw(failure_of);
use JSON::PP ();

sub holds ($what, $is) {
    return if $is;
    print {*STDERR} "does not hold: $what\n";
    exit 1;
}

# A driver without a server, which notes what it is asked for; it is its connection, too.
package Notebook {
    sub new ($class) { return bless { notes => [] }, $class }
    sub connect ($self) { push @{ $self->{notes} }, 'connect'; return $self }
    sub prepare ($self, $sql) { push @{ $self->{notes} }, "prepare $sql" }
    sub close ($self) { push @{ $self->{notes} }, 'close' }
    sub version ($self) { return '1.0' }
    sub given ($self, $text) { return $text }
    sub given_bytes ($self, $bytes) { return Encode::decode('UTF-8', $bytes) }
    sub shown ($self, $value) { return defined $value ? "$value" : undef }

    sub say ($self, $sql) {
        push @{ $self->{notes} }, $sql;
        die Adapter::Failure->new(kind => 'server_error', words => 'Unknown column', number => 1054) if $sql eq 'wrong';
        return [[1, undef, 'a']];
    }

    sub run_prepared ($self, $sql, $types, $values) {
        push @{ $self->{notes} }, join '|', $sql, @$types, @$values;
        return [];
    }
}

# The lines that are answered to these orders, and what the driver was asked for.
sub answered ($reconnect, $orders) {
    my @calls = ({ pieces => ['a=', ' b=', ''], types => 'is', prepared => 1 }, { pieces => [''], types => '', prepared => 0 });
    my $setup = { calls => \@calls, on_connect => ['hello'], reconnect => $reconnect };
    open my $in, '<', \$orders or die;
    # A real file, as answers are written past the buffers.
    my $out = File::Temp->new;
    my $driver = Notebook->new;
    Adapter::Channel->new($driver, $setup, $in, $out)->serve;
    seek $out, 0, 0;
    return [map { chomp; $_ } readline $out], $driver->{notes};
}

my $far_ns = 1e18;
my $add = sub ($operation) { 'operations 1 ' . length($operation) . "\n$operation" };
my $operation = $add->("7\x1fit's\x1ftext");
my $ends = "work $far_ns\nwork 1\nreport\nclose\n${operation}empty\nwork $far_ns\n";
my ($lines, $notes) = answered(0, "open\nrows -1 4\nask?$operation$ends");
holds('orders without reconnecting', "@$notes" eq "connect hello prepare a=? b=? ask? a=? b=?|i|s|7|it's text close");
my @answers = map { JSON::PP->new->utf8->decode($_) } @$lines[0 .. 5, 7 .. 10];
holds('the version', $answers[0]{version} eq '1.0');
holds('rows', $lines->[1] eq q({"rows":[["1",null,"a"]]}));
holds('one is done, then none is left', "@{[map { $_->{operations} // '-' } @answers[2 .. 4]]}" eq '- 1 0');
my @times = split ' ', $lines->[6];
holds('as many bytes as are said', $answers[5]{bytes} == 1 + length $lines->[6] && $answers[5]{opened} == 1);
holds('six times', @times == 6 && $times[0] == $times[2] && $times[2] <= $times[3] && $times[4] == $times[5]);
holds('none is left of a stock that was emptied', $answers[-1]{operations} == 0);

my $wrong = $add->("7\x1fx\x1fwrong");
($lines, $notes) = answered(1, "${wrong}work $far_ns\nreport\n${operation}work $far_ns\n");
@answers = map { JSON::PP->new->utf8->decode($_) } @$lines;
holds('a failure', $answers[1]{failure}{kind} eq 'server_error' && $answers[1]{failure}{code} == 1054);
holds('its times are dropped', $answers[2]{bytes} == 0 && $answers[2]{opened} == 1);
holds('closed each time', 2 == grep { $_ eq 'close' } @$notes);
holds('and done again', $answers[4]{operations} == 1);

sub driver (%changes) {
    return Adapter::Driver->new({
        name => "$ENV{TLSTAX_DRIVER}-1.0", endpoint => { kind => 'tcp', host => 'h', port => 1 },
        account => { user => 'u', password => 'p', database => undef }, tls => { mode => 'off' }, options => {}, channels => [[3, 4]],
        %changes,
    });
}
my $prefix = $ENV{TLSTAX_DRIVER} eq 'dbd-mysql' ? 'mysql' : 'mariadb';
my $attributes = driver(options => { "${prefix}_compression" => 'true' })->{attributes};
holds('options', $attributes->{"${prefix}_compression"} == 1 && $attributes->{"${prefix}_ssl"} == 0);
eval { driver(options => { nonsense => 1 }) };
holds('an option that it has not', $@->{kind} eq 'bad_job' && $@->{by} eq 'adapter');
eval { driver(channels => [[3, 4], [5, 6]]) };
holds('a second connection', $@->{kind} eq 'bad_job' && $@->{by} eq 'adapter');
my $file = driver(tls => { mode => 'on', verify => 'none', versions => ['1.2', '1.3'] })->{attributes}{"${prefix}_read_default_file"};
open my $options, '<', $file or die "$file: $!";
holds('the versions that are asked for', join('', readline $options) =~ /^tls_version=TLSv1\.2,TLSv1\.3$/m);

sub failure ($number, $words) {
    return failure_of("DBD::mysql::db do failed: $words at main.pl line 1.", $number, $words);
}
holds('access denied', failure(1045, 'Access denied')->{kind} eq 'access_denied');
holds('an error of the server keeps the connection', !failure(1054, 'Unknown column')->is_lost);
holds('no TLS', failure(2026, 'SSL is required, but the server does not support it')->{kind} eq 'no_tls');
holds('what it cannot do', failure(2026, 'Enforcing SSL encryption is not supported')->{kind} eq 'bad_job');
holds('a certificate', failure(2026, 'self-signed certificate in certificate chain')->{kind} eq 'certificate');
holds('a server that hangs up', failure(2013, 'Lost connection to server')->{kind} eq 'server_closed');
