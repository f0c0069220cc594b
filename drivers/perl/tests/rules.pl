# The rules that need no server: statements, sequences, steady warm-ups, failures, lines; then a histogram of what it is given.
use v5.36;

use DriverContract::Failure qw(failure_of is_failure);
use DriverContract::Histogram;
use DriverContract::Job;
use DriverContract::Laboratory qw(slice_length_s);
use DriverContract::Statement qw(literal EXHAUSTED);
use DriverContract::Steady qw(is_steady);
use JSON::PP ();

sub holds ($what, $is) {
    return if $is;
    print {*STDERR} "does not hold: $what\n";
    exit 1;
}

# The kind of the failure that this dies of; an empty text where it dies of none.
sub refusal ($made) {
    return '' if eval { $made->(); 1 };
    return is_failure($@) ? $@->{kind} : "$@";
}

sub slices (@costs_us) {
    return map { { elapsed_s => 0.1, operations => 100, cpu_us => 100 * $_ } } @costs_us;
}

sub job_with (%changes) {
    return DriverContract::Job->new(JSON::PP->new->encode({
        schema => 2, endpoint => { kind => 'tcp', host => 'h', port => 1 },
        account => { user => 'u', password => 'p' }, tls => { mode => 'off' },
        workload => { statements => [{ sql => 'SELECT 1' }] }, connections => 1, duration_s => 1, seed => 1, %changes,
    }));
}

sub statement ($sql, %parameters) {
    my $document = JSON::PP->new->decode(JSON::PP->new->encode({ sql => $sql, parameters => \%parameters }));
    return DriverContract::Statement->new($document, 'text');
}

my $made = statement(
    q(SELECT '{{?}}' WHERE a BETWEEN {id} AND {high} AND w = {word} AND c = {code}),
    high => { kind => 'offset', of => 'id', by => 9 }, id => { kind => 'uniform_int', low => 5, high => 5 },
    word => { kind => 'one_of', values => ["it's"] }, code => { kind => 'digits', template => '##-a-####' },
);
my $values = $made->draw;
holds('values in the order of the placeholders', "@$values[0 .. 2]" eq q(5 14 it's));
holds('a digit for each mark', $values->[3] =~ /^\d\d-a-\d{4}$/);
my $literal = $made->literal_with($values);
holds('literals', $literal =~ /^SELECT '\{\?\}' WHERE a BETWEEN 5 AND 14 AND w = 'it''s' AND c = '\d\d-a-\d{4}'$/);
holds('a mark for each value', $made->{marked} =~ /BETWEEN \? AND \? AND w = \? AND c = \?$/);
holds('a backslash in hexadecimal', literal('a\\') eq '_utf8mb4 0x615c');
holds('a text of digits stays a text', literal('10') eq q('10'));

my $sequence = statement('{id}', id => { kind => 'sequence', first => 1, last => 2 });
my @given = map { eval { $sequence->draw->[0] } // $@ =~ s/\n//r } 1 .. 3;
holds('a sequence gives each number once', "@given" eq '1 2 ' . EXHAUSTED);
for my $sql ('SELECT {id}', 'SELECT {', 'SELECT }') {
    holds("a bad job: $sql", refusal(sub { statement($sql) }) eq 'bad_job');
}

holds('nine slices are too few', !is_steady(slices((10) x 9)));
holds('ten alike are steady', is_steady(slices((10) x 10)));
holds('falling costs are not', !is_steady(slices((10) x 5, (9.4) x 5)));
holds('nearly alike are', is_steady(slices((10) x 5, (9.6) x 5)));
holds('slices in which nothing was done are not', !is_steady(({ operations => 0, cpu_us => 5 }) x 10));

holds('a job', refusal(sub { job_with() }) eq '');
my %bad = (
    'two connections' => [connections => 2], 'another schema' => [schema => 1], 'an unknown field' => [new => 1],
    'a reset' => [reset => ['DELETE']], 'groups' => [tls => { mode => 'on', groups => 'X25519' }],
    'more than required' => [tls => { mode => 'required', verify => 'ca' }], 'a batch' => [driver => { batch => 2 }],
    'an open loop' => [schedule => { mode => 'open', rate_per_s => 1 }], 'a port of text' =>
        [endpoint => { kind => 'tcp', host => 'h', port => '1' }],
);
for my $what (sort keys %bad) {
    holds("a bad job: $what", refusal(sub { job_with(@{ $bad{$what} }) }) eq 'bad_job');
}
my $tls = job_with(tls => { mode => 'on', min_version => '1.2' })->{tls};
holds('the versions that are asked for', "@{ $tls->{versions} }" eq '1.2 1.3');

for my $line ('go', 'go 0', 'go -1', 'go nan', 'go inf', 'go 1 2', 'go 4e7') {
    holds("a bad line: $line", refusal(sub { slice_length_s(split ' ', $line) }) eq 'bad_job');
}
holds('a year is the longest slice', slice_length_s('go', '31557600') == 31557600);

sub failure ($number, $words) {
    return failure_of($words, title => 'A driver', secret => 'geheim', number => $number, words => $words);
}
holds('access denied', failure(1045, 'Access denied for geheim')->{kind} eq 'access_denied');
holds('without the password', failure(1045, 'Access denied for geheim')->{message} !~ /geheim/);
holds('an error of the server keeps the connection', !failure(1054, 'Unknown column')->{lost});
holds('no TLS', failure(2026, 'SSL is required, but the server does not support it')->{kind} eq 'no_tls');
holds('what it cannot do', failure(2026, 'Enforcing SSL encryption is not supported')->{kind} eq 'bad_job');
holds('a certificate', failure(2026, 'self-signed certificate in certificate chain')->{kind} eq 'certificate');
holds('a server that hangs up', failure(2013, 'Lost connection to server')->{kind} eq 'server_closed');

my $histogram = DriverContract::Histogram->new;
$histogram->record($_) for split ' ', do { local $/ = undef; readline STDIN };
say $histogram->encoded;
