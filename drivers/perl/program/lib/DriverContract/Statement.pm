# A statement with placeholders, filled in with values that are drawn for each run.
package DriverContract::Statement;
use v5.36;
no warnings 'experimental::builtin';

use DriverContract::Failure qw(bad_job);
use DriverContract::Fields;
use Exporter 'import';
use builtin qw(created_as_number);

our @EXPORT_OK = qw(literal EXHAUSTED);

# What a sequence dies of that has given its last number: the window ends, and that is no error.
use constant EXHAUSTED => 'exhausted';

# A statement of the job. Dies of a Failure (bad_job).
sub new ($class, $document, $protocol) {
    my $fields = DriverContract::Fields->new($document, 'statement');
    my $sql = $fields->take('sql', 'text');
    my $parameters = $fields->maybe('parameters', 'object', {});
    my $own = $fields->maybe('protocol', 'text', $protocol);
    my $repeat = $fields->maybe('repeat', 'whole', 1);
    $fields->end;
    die bad_job("protocol is neither text nor prepared: $own") unless $own =~ /^(?:text|prepared)$/;
    my ($texts, $names) = _pieces($sql, $parameters);
    return bless {
        texts => $texts, names => $names, draws => _draws($parameters), repeat => $repeat,
        prepared => $own eq 'prepared', marked => join('?', @$texts),
    }, $class;
}

# Whether it only reads.
sub is_select ($self) {
    return $self->{texts}[0] =~ /^\s*SELECT/i;
}

# Values for one run, in the order of the placeholders. Dies of EXHAUSTED.
sub draw ($self) {
    my %drawn;
    for my $each (@{ $self->{draws} }) {
        my ($name, $draw) = @$each;
        $drawn{$name} = $draw->(\%drawn);
    }
    return [@drawn{ @{ $self->{names} } }];
}

# The statement as text, with the values put in.
sub literal_with ($self, $values) {
    my ($first, @rest) = @{ $self->{texts} };
    return $first . join '', map { literal($values->[$_]) . $rest[$_] } 0 .. $#rest;
}

# A value as it stands in a statement, whatever the session's sql_mode says of backslashes.
sub literal ($value) {
    return $value if created_as_number($value);
    if ($value =~ /\\/) {
        my $bytes = $value;
        utf8::encode($bytes);
        return '_utf8mb4 0x' . unpack 'H*', $bytes;
    }
    return "'" . $value =~ s/'/''/gr . "'";
}

sub _pieces ($sql, $parameters) {
    my (@texts, @names) = ('');
    for my $word (split /(\{\{|\}\}|\{[^{}]*\}|[{}])/, $sql) {
        if ($word eq '{{' || $word eq '}}') {
            $texts[-1] .= substr $word, 0, 1;
        } elsif ($word eq '{' || $word eq '}') {
            die bad_job("a brace stands alone (write it twice) in: $sql");
        } elsif ($word =~ /^\{(.*)\}$/s) {
            die bad_job("placeholder $word has no parameter of that name") unless exists $parameters->{$1};
            push @names, $1;
            push @texts, '';
        } else {
            $texts[-1] .= $word;
        }
    }
    return \@texts, \@names;
}

# How each value is drawn, so ordered that what an offset counts from comes before it.
sub _draws ($parameters) {
    my %draw = map { $_ => _draw_of($_, $parameters->{$_}, $parameters) } keys %$parameters;
    my %depth = map { $_ => _depth($_, $parameters) } keys %$parameters;
    return [map { [$_, $draw{$_}] } sort { $depth{$a} <=> $depth{$b} } keys %draw];
}

sub _depth ($name, $parameters, %seen) {
    die bad_job("parameter $name is an offset of itself") if $seen{$name};
    my $of = $parameters->{$name}{of};
    return defined $of ? 1 + _depth($of, $parameters, %seen, $name => 1) : 0;
}

sub _draw_of ($name, $document, $parameters) {
    my $fields = DriverContract::Fields->new($document, "parameter $name");
    my $kind = $fields->take('kind', 'text');
    my %make = (
        uniform_int => sub { _uniform($fields->take('low', 'whole'), $fields->take('high', 'whole')) },
        sequence => sub { _sequence($fields->take('first', 'whole'), $fields->take('last', 'whole')) },
        offset => sub { _offset($name, $fields->take('of', 'text'), $fields->take('by', 'whole'), $parameters) },
        digits => sub { _digits($fields->take('template', 'text')) },
        one_of => sub { _one_of($fields->take('values', 'list')) },
    );
    my $make = $make{$kind} // die bad_job("parameter $name is of a kind that this client does not know: $kind");
    my $draw = $make->();
    $fields->end;
    return $draw;
}

sub _uniform ($low, $high) {
    die bad_job("uniform_int has nothing between $low and $high") if $low > $high;
    my $count = $high - $low + 1;
    return sub { $low + int rand $count };
}

# Each number once, over the one connection that there is.
sub _sequence ($next, $last) {
    return sub { $next <= $last ? $next++ : die EXHAUSTED . "\n" };
}

sub _offset ($name, $of, $by, $parameters) {
    die bad_job("parameter $name is an offset of $of, which is none") unless exists $parameters->{$of};
    return sub ($drawn) { $drawn->{$of} + $by };
}

sub _digits ($template) {
    return sub { $template =~ s/(#{1,9})/sprintf '%0*d', length $1, rand 10**length $1/ger };
}

sub _one_of ($values) {
    die bad_job('one_of has no values') unless @$values;
    return sub { $values->[rand @$values] };
}

1;
