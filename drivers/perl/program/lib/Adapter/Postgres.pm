# DBD::Pg over DBI: how it is called. What it is told goes into the DSN, by libpq's words.
package Adapter::Postgres;
use v5.36;

use Adapter::Failure qw(refuse_more_connections);
use Adapter::Session;
use DBD::Pg ();
use DBI ();
use Encode ();

my %MODES = (none => 'require', ca => 'verify-ca', identity => 'verify-full');

# What `DBI->connect` is called with. Dies of a Failure (bad_job).
sub new ($class, $setup) {
    refuse_more_connections($setup);
    my ($endpoint, $account) = @$setup{qw(endpoint account)};
    my %words = _tls($setup->{tls});
    if ($endpoint->{kind} eq 'unix') {
        @words{qw(host port)} = $endpoint->{path} =~ m{^(.*)/\.s\.PGSQL\.(\d+)$};
    }
    else {
        @words{qw(host port)} = @$endpoint{qw(host port)};
    }
    $words{dbname} = $account->{database} if defined $account->{database};
    my %attributes = (RaiseError => 1, PrintError => 0, AutoCommit => 1);
    for my $name (keys %{ $setup->{options} }) {
        my $into = $name =~ /^(?:pg_|AutoCommit$)/ ? \%attributes : \%words;
        $into->{$name} = $setup->{options}{$name};
    }
    my $dsn = 'dbi:Pg:' . join ';', map { "$_=" . _quoted($words{$_}) } sort keys %words;
    return bless { arguments => [$dsn, @$account{qw(user password)}], attributes => \%attributes }, $class;
}

# An open connection. Dies of what DBI dies of; its state and words are in $DBI::state and $DBI::errstr.
sub connect ($self) {
    my $handle = DBI->connect(@{ $self->{arguments} }, { %{ $self->{attributes} } });
    my $number = $handle->{pg_lib_version};
    my $library = sprintf 'libpq %d.%d', int($number / 10_000), $number % 10_000;
    return Adapter::Session->new($handle, DBD::Pg->VERSION =~ s/^v//r . " ($library)");
}

# A text as the driver takes it, in characters.
sub given ($self, $text) {
    return $text;
}

# The same of a text that is bytes.
sub given_bytes ($self, $bytes) {
    return Encode::decode('UTF-8', $bytes);
}

# A value of a row as text.
sub shown ($self, $value) {
    return defined $value ? "$value" : undef;
}

sub _tls ($tls) {
    return () if $tls->{mode} eq 'unset';
    return (sslmode => 'disable') if $tls->{mode} eq 'off';
    return (sslmode => 'require') if $tls->{mode} eq 'required';
    my %words = (sslmode => $MODES{ $tls->{verify} }, sslcert => $tls->{certificate_file}, sslkey => $tls->{key_file});
    $words{sslrootcert} = $tls->{ca_file} if $tls->{verify} ne 'none';
    if (my @versions = map { $_ eq '1.0' ? 'TLSv1' : "TLSv$_" } @{ $tls->{versions} }) {
        @words{qw(ssl_min_protocol_version ssl_max_protocol_version)} = @versions[0, -1];
    }
    return map { defined $words{$_} ? ($_ => $words{$_}) : () } keys %words;
}

# A value of libpq's as it has one with blanks or quotes in it.
sub _quoted ($word) {
    return q(') . ($word =~ s/([\\'])/\\$1/gr) . q(');
}

1;
