# A JSON object read field by field: what is missing, of another type or left over is a bad job.
package DriverContract::Fields;
use v5.36;
no warnings 'experimental::builtin';

use DriverContract::Failure qw(bad_job);
use JSON::PP ();
use builtin qw(created_as_number);

my %FITS = (
    text => sub ($value) { !ref $value && !created_as_number($value) },
    whole => sub ($value) { !ref $value && created_as_number($value) && $value == int $value },
    number => sub ($value) { !ref $value && created_as_number($value) },
    truth => sub ($value) { JSON::PP::is_bool($value) },
    list => sub ($value) { ref $value eq 'ARRAY' },
    object => sub ($value) { ref $value eq 'HASH' },
);

# One JSON object of the job, of which every field is to be taken.
sub new ($class, $value, $where) {
    die bad_job("$where is not an object in this job") unless ref $value eq 'HASH';
    return bless { left => {%$value}, where => $where }, $class;
}

# The field, which has this type.
sub take ($self, $name, $type) {
    return $self->maybe($name, $type) // die bad_job("$self->{where} has no $name in this job");
}

# The field, or another value where it is absent or null.
sub maybe ($self, $name, $type, $otherwise = undef) {
    my $value = delete $self->{left}{$name};
    return $otherwise unless defined $value;
    return $value if $FITS{$type}->($value);
    die bad_job("$self->{where}.$name is not a $type in this job");
}

# A field that this client can do nothing with has to be empty, false or absent.
sub refuse ($self, $name, $why) {
    my $value = delete $self->{left}{$name};
    my $is_empty = ref $value eq 'ARRAY' ? !@$value : !$value;
    die bad_job("$self->{where}.$name: $why") unless $is_empty;
}

# Fields that have no meaning for this client.
sub ignore ($self, @names) {
    delete @{ $self->{left} }{@names};
}

# Nothing is left over.
sub end ($self) {
    my ($name) = sort keys %{ $self->{left} };
    die bad_job("$self->{where} has a field that this client does not know: $name") if defined $name;
}

1;
