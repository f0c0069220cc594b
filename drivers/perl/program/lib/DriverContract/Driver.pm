# DBD::mysql and DBD::MariaDB over DBI: how each is called. They are alike but for the prefix of their words.
package DriverContract::Driver;
use v5.36;

use DBI ();
use DriverContract::Failure qw(bad_job failure_of);
use DriverContract::Session;
use File::Temp ();

my %DRIVERS = (
    'dbd-mysql' => { module => 'DBD::mysql', dsn => 'mysql', prefix => 'mysql' },
    'dbd-mariadb' => { module => 'DBD::MariaDB', dsn => 'MariaDB', prefix => 'mariadb' },
);

# Words of each driver's documentation, without their prefix; DBD::mysql takes any other and does nothing with it.
my %WORDS = map { $_ => 1 } qw(
    auto_reconnect bind_comment_placeholders bind_type_guessing client_found_rows compression connect_timeout
    conn_attrs enable_utf8 enable_utf8mb4 init_command local_infile max_allowed_packet multi_statements
    no_autocommit_cmd read_default_file read_default_group read_timeout server_prepare
    server_prepare_disable_fallback ssl ssl_ca_file ssl_ca_path ssl_cipher ssl_client_cert ssl_client_key ssl_optional
    ssl_verify_server_cert use_result write_timeout get_server_pubkey server_pubkey
);

# The driver of this name, which ends in a version.
sub named ($class, $name) {
    my $known = $DRIVERS{ $name =~ s/-[0-9.]+$//r };
    eval "require $known->{module}; 1" or die $@;
    return bless {%$known}, $class;
}

# What the driver is called in messages.
sub title ($self) {
    return $self->{module};
}

# The driver's version, and that of the client library under this connection.
sub version ($self, $session) {
    return $self->{module}->VERSION . ' (libmariadb ' . $session->client_version . ')';
}

# What `DBI->connect` is called with, from the job and its options. Dies of a Failure (bad_job).
sub settings ($self, $job) {
    my %place = defined $job->{socket_path}
        ? ("$self->{prefix}_socket" => $job->{socket_path})
        : (host => $job->{host}, port => $job->{port});
    $place{database} = $job->{database} if defined $job->{database};
    my %attributes = (RaiseError => 1, PrintError => 0, $self->_tls($job->{tls}));
    for my $name (keys %{ $job->{options} }) {
        my $word = $name =~ s/^\Q$self->{prefix}\E_//r;
        die bad_job("$self->{module} has no option $name") unless $word ne $name && $WORDS{$word};
        $attributes{$name} = $job->{options}{$name} =~ s/^(true|false)$/$1 eq 'true' ? 1 : 0/er;
    }
    return {
        dsn => "dbi:$self->{dsn}:" . join(';', map { "$_=$place{$_}" } sort keys %place),
        user => $job->{user}, password => $job->{password}, attributes => \%attributes,
    };
}

# An open connection. Dies of what DBI dies of; its number and words are in $DBI::err and $DBI::errstr.
sub connect ($self, $settings) {
    my $handle = DBI->connect(@$settings{qw(dsn user password)}, { %{ $settings->{attributes} } });
    my $decodes = grep { $settings->{attributes}{"mysql_enable_$_"} } qw(utf8 utf8mb4);
    my $takes_bytes = $self->{prefix} eq 'mysql' && !$decodes;
    return DriverContract::Session->new($handle, $self->{prefix}, $takes_bytes);
}

# What it died of just now, in the contract's words.
sub failure ($self, $error, $secret) {
    my $is_dbis = $error =~ /^DB[DI]/;
    return failure_of(
        $error, title => $self->{module}, secret => $secret, number => $is_dbis ? $DBI::err : undef,
        words => $is_dbis ? $DBI::errstr : undef,
    );
}

# DBD::mysql refuses `mysql_ssl=1` alone, as it cannot enforce it over libmariadb: with `mysql_ssl_optional=1` it encrypts
# where the server does. For DBD::MariaDB that word means not to verify.
sub _tls ($self, $tls) {
    my $mode = $tls->{mode};
    return () if $mode eq 'unset';
    my $verifies = $mode eq 'on' && $tls->{verify} ne 'none';
    my %words = (ssl => $mode eq 'off' ? 0 : 1);
    $words{ssl_verify_server_cert} = 1 if $verifies;
    $words{ssl_optional} = 1 if $words{ssl} && ($self->{prefix} eq 'mysql' || $mode eq 'on' && !$verifies);
    if ($mode eq 'on') {
        my %files = (ssl_ca_file => 'ca_file', ssl_client_cert => 'certificate_file', ssl_client_key => 'key_file');
        for my $word (keys %files) {
            $words{$word} = $tls->{ $files{$word} } if defined $tls->{ $files{$word} };
        }
        $words{read_default_file} = _options_file(@{ $tls->{versions} }) if @{ $tls->{versions} };
    }
    return map { ("$self->{prefix}_$_" => $words{$_}) } keys %words;
}

# The path of a file of options without a name, which lasts as long as the process: versions are libmariadb's to be
# told, and neither driver has a word for them.
sub _options_file (@versions) {
    state $file = File::Temp->new;
    print {$file} "[client]\ntls_version=", join(',', map { "TLSv$_" } @versions), "\n";
    $file->flush;
    unlink $file->filename;
    return '/proc/self/fd/' . fileno $file;
}

1;
