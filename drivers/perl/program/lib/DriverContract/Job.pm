# The job as it is read from one line of JSON, checked at the door.
package DriverContract::Job;
use v5.36;

use DriverContract::Failure qw(bad_job);
use DriverContract::Fields;
use DriverContract::Statement;
use JSON::PP ();

use constant SCHEMA => 2;

# TLS versions of the contract, lowest first.
my @TLS_VERSIONS = ('1.0', '1.1', '1.2', '1.3');

# Fields of TLS that no Perl driver has a word for.
my @UNTOLD = qw(cipher_list ciphersuites groups resumption library weak_dh keylog_file);

# The job in this line. Dies of a Failure (bad_job) with what is wrong with it.
sub new ($class, $line) {
    my $document = eval { JSON::PP->new->utf8->decode($line) } // die bad_job('the job is not JSON');
    my $fields = DriverContract::Fields->new($document, 'the job');
    my $schema = $fields->take('schema', 'whole');
    if ($schema != SCHEMA) {
        die bad_job("the job is of version $schema of the contract, and this client knows " . SCHEMA);
    }
    my $endpoint = _endpoint(DriverContract::Fields->new($fields->take('endpoint', 'object'), 'endpoint'));
    my $self = bless {
        %$endpoint,
        _account(DriverContract::Fields->new($fields->take('account', 'object'), 'account')),
        tls => _tls(DriverContract::Fields->new($fields->take('tls', 'object'), 'tls'), $endpoint->{host}),
        _workload($fields, DriverContract::Fields->new($fields->take('workload', 'object'), 'workload')),
        _driver(DriverContract::Fields->new($fields->maybe('driver', 'object', {}), 'driver')),
        cpus => $fields->maybe('cpus', 'list', []),
        warmup_s => $fields->maybe('warmup_s', 'number', 0.1),
        duration_s => $fields->take('duration_s', 'number'),
        operations => $fields->maybe('operations', 'whole'),
        timeout_s => $fields->maybe('timeout_s', 'number', 10),
        seed => $fields->take('seed', 'number'),
        row_samples => $fields->maybe('row_samples', 'whole', 16),
    }, $class;
    if ($fields->take('connections', 'whole') != 1) {
        die bad_job('connections: a process of Perl has one connection at work, so this client keeps one');
    }
    $fields->end;
    return $self;
}

# Whether a statement is not a SELECT.
sub changes_data ($self) {
    return scalar grep { !$_->is_select } @{ $self->{statements} };
}

# Whether a connection in the clear is none that the job asks for.
sub wants_tls ($self) {
    return $self->{tls}{mode} =~ /^(?:on|required)$/;
}

sub _endpoint ($fields) {
    my $kind = $fields->take('kind', 'text');
    my %found =
        $kind eq 'tcp' ? (host => $fields->take('host', 'text'), port => $fields->take('port', 'whole'))
        : $kind eq 'unix' ? (socket_path => $fields->take('path', 'text'))
        : die bad_job("endpoint.kind is neither tcp nor unix: $kind");
    $fields->end;
    return \%found;
}

sub _account ($fields) {
    my %account = (
        user => $fields->take('user', 'text'), password => $fields->take('password', 'text'),
        database => $fields->maybe('database', 'text'),
    );
    $fields->end;
    return %account;
}

# What only the engine does is a bad job here, unless it is left at what means nothing.
sub _workload ($fields, $work) {
    my $schedule = $fields->maybe('schedule', 'object', { mode => 'closed' });
    unless (keys %$schedule == 1 && ($schedule->{mode} // '') eq 'closed') {
        die bad_job('a driver works in a closed loop only');
    }
    $fields->refuse('reset', 'a driver does all operations in one go and puts no data back');
    $fields->ignore(qw(rounds threads source_addresses attributes));
    $work->refuse('mix', 'a driver runs statements, not a mix of transactions');
    $work->refuse('storm', 'a driver runs statements, not a storm');
    my $protocol = $work->maybe('protocol', 'text', 'text');
    my %workload = (
        reconnect => $work->maybe('reconnect', 'truth', 0), on_connect => $work->maybe('on_connect', 'list', []),
        statements => [map { DriverContract::Statement->new($_, $protocol) } @{ $work->take('statements', 'list') }],
    );
    $work->end;
    return %workload;
}

sub _driver ($fields) {
    my %driver = (
        options => $fields->maybe('options', 'object', {}), steady_within_s => $fields->maybe('steady_within_s', 'number', 0),
    );
    if ($fields->maybe('batch', 'whole', 1) != 1) {
        die bad_job('driver.batch: this driver has no call for many operations at once');
    }
    $fields->end;
    return %driver;
}

sub _tls ($fields, $host) {
    my $mode = $fields->take('mode', 'text');
    my %tls = (mode => $mode, versions => []);
    if ($mode eq 'on') {
        $fields->refuse($_, 'this driver cannot be told') for @UNTOLD;
        if (defined(my $name = $fields->maybe('server_name', 'text'))) {
            die bad_job('tls.server_name: this driver compares the certificate with the host it connects to')
                if $name ne ($host // '');
        }
        $tls{versions} = _versions($fields);
        $tls{verify} = $fields->maybe('verify', 'text', 'none');
        $tls{$_} = $fields->maybe($_, 'text') for qw(ca_file certificate_file key_file);
    } elsif ($mode =~ /^(?:unset|required)$/) {
        $tls{trusted_ca_file} = $fields->maybe('trusted_ca_file', 'text');
    } elsif ($mode ne 'off') {
        die bad_job("tls.mode is not one of unset, required, off and on: $mode");
    }
    $fields->end;
    return \%tls;
}

# The versions to keep to; none where the job leaves it to the driver.
sub _versions ($fields) {
    my %bound = map { $_ => $fields->maybe("${_}_version", 'text') } qw(min max);
    return [] unless defined $bound{min} || defined $bound{max};
    my %place = map { $TLS_VERSIONS[$_] => $_ } 0 .. $#TLS_VERSIONS;
    my $low = $place{ $bound{min} // $TLS_VERSIONS[0] };
    my $high = $place{ $bound{max} // $TLS_VERSIONS[-1] };
    unless (defined $low && defined $high) {
        die bad_job('tls.min_version and tls.max_version are of ' . join ', ', @TLS_VERSIONS);
    }
    return [@TLS_VERSIONS[$low .. $high]];
}

1;
