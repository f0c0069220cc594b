# DBD::mysql and DBD::MariaDB over DBI: how each is called. They are alike but for the prefix of their words.
package Adapter::Driver;
use v5.36;

use Adapter::Failure qw(bad_job refuse_more_connections);
use Adapter::Session;
use DBI ();
use Encode ();
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

# The driver that the job names, its version behind, and what `DBI->connect` is called with. Dies of a Failure (bad_job).
sub new ($class, $setup) {
    refuse_more_connections($setup);
    my $self = bless { %{ $DRIVERS{ $setup->{name} =~ s/-[0-9.]+$//r } } }, $class;
    eval "require $self->{module}; 1" or die $@;
    my ($prefix, $endpoint, $account) = ($self->{prefix}, @$setup{qw(endpoint account)});
    my %place = $endpoint->{kind} eq 'unix'
        ? ("${prefix}_socket" => $endpoint->{path})
        : (host => $endpoint->{host}, port => $endpoint->{port});
    $place{database} = $account->{database} if defined $account->{database};
    my %attributes = (RaiseError => 1, PrintError => 0, $self->_tls($setup->{tls}));
    for my $name (keys %{ $setup->{options} }) {
        my $word = $name =~ s/^\Q$prefix\E_//r;
        die bad_job("$self->{module} has no option $name") unless $word ne $name && $WORDS{$word};
        $attributes{$name} = $setup->{options}{$name} =~ s/^(true|false)$/$1 eq 'true' ? 1 : 0/er;
    }
    my $decodes = grep { $attributes{"mysql_enable_$_"} } qw(utf8 utf8mb4);
    $self->{takes_bytes} = $prefix eq 'mysql' && !$decodes;
    my $dsn = "dbi:$self->{dsn}:" . join ';', map { "$_=$place{$_}" } sort keys %place;
    $self->{arguments} = [$dsn, @$account{qw(user password)}];
    $self->{attributes} = \%attributes;
    return $self;
}

# An open connection. Dies of what DBI dies of; its number and words are in $DBI::err and $DBI::errstr.
sub connect ($self) {
    my $handle = DBI->connect(@{ $self->{arguments} }, { %{ $self->{attributes} } });
    my $library = "libmariadb $handle->{qq($self->{prefix}_clientinfo)}";
    return Adapter::Session->new($handle, $self->{module}->VERSION . " ($library)");
}

# A text as the driver takes it: DBD::mysql in bytes unless it is told otherwise, DBD::MariaDB in characters.
sub given ($self, $text) {
    return $self->{takes_bytes} ? Encode::encode('UTF-8', $text) : $text;
}

# The same of a text that is bytes already.
sub given_bytes ($self, $bytes) {
    return $self->{takes_bytes} ? $bytes : Encode::decode('UTF-8', $bytes);
}

# A value of a row as text.
sub shown ($self, $value) {
    return $value if !defined $value;
    return $self->{takes_bytes} ? Encode::decode('UTF-8', "$value") : "$value";
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
