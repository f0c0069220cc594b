# A connection that is open: statements are run on it as a user of DBI would run them.
package DriverContract::Session;
use v5.36;

use Encode ();
use DBI qw(SQL_BIGINT);

sub new ($class, $handle, $prefix, $takes_bytes) {
    return bless { handle => $handle, prefix => $prefix, takes_bytes => $takes_bytes, prepared => {} }, $class;
}

# The version of the client library.
sub client_version ($self) {
    return $self->{handle}{"$self->{prefix}_clientinfo"};
}

# Run this text; the rows that came back, undef where the statement has none.
sub say ($self, $sql) {
    my $statement = $self->{handle}->prepare($self->_given($sql));
    $statement->execute;
    return _rows($statement);
}

# Run this statement, with `?` for each value, by a statement that is prepared once; the rows.
sub run_prepared ($self, $sql, $values, $is_number) {
    my $statement = $self->{prepared}{$sql} //= $self->{handle}->prepare($self->_given($sql));
    my $place = 0;
    for my $value (@$values) {
        # A copy: a number that is bound becomes a text.
        my $bound = $value;
        if ($is_number->($value)) {
            $statement->bind_param(++$place, $bound, SQL_BIGINT);
        } else {
            $statement->bind_param(++$place, $self->_given($bound));
        }
    }
    $statement->execute;
    return _rows($statement);
}

# A value of a row as text.
sub shown ($self, $value) {
    return $value if !defined $value;
    return $self->{takes_bytes} ? Encode::decode('UTF-8', "$value") : "$value";
}

# Hang up as the driver does.
sub close ($self) {
    $self->{prepared} = {};
    $self->{handle}->disconnect;
}

# DBD::mysql takes bytes unless it is told otherwise, DBD::MariaDB text.
sub _given ($self, $text) {
    return $self->{takes_bytes} ? Encode::encode('UTF-8', $text) : $text;
}

sub _rows ($statement) {
    return $statement->{NUM_OF_FIELDS} ? $statement->fetchall_arrayref : undef;
}

1;
