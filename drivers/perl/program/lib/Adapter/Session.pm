# A connection that is open: statements are run on it as a user of DBI would run them.
package Adapter::Session;
use v5.36;

use DBI qw(SQL_BIGINT);

sub new ($class, $handle, $version) {
    return bless { handle => $handle, version => $version, prepared => {} }, $class;
}

# The driver's version, and that of the client library.
sub version ($self) {
    return $self->{version};
}

# Run this text; its rows, of which a statement that selects nothing has none.
sub say ($self, $sql) {
    my $statement = $self->{handle}->prepare($sql);
    $statement->execute;
    return _rows($statement);
}

# Prepare this statement, with `?` for each value, once.
sub prepare ($self, $sql) {
    $self->{prepared}{$sql} //= $self->{handle}->prepare($sql);
}

# Run a prepared statement with values of these types (`i` a whole number, `s` a text); its rows. A number that is bound
# becomes a text.
sub run_prepared ($self, $sql, $types, $values) {
    my $statement = $self->{prepared}{$sql};
    for my $place (0 .. $#$types) {
        $statement->bind_param($place + 1, $values->[$place], $types->[$place] eq 'i' ? SQL_BIGINT : ());
    }
    $statement->execute;
    return _rows($statement);
}

# Hang up as the driver does.
sub close ($self) {
    $self->{prepared} = {};
    $self->{handle}->disconnect;
}

sub _rows ($statement) {
    return $statement->{NUM_OF_FIELDS} ? $statement->fetchall_arrayref : [];
}

1;
