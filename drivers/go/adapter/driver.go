// What a driver's program tells of its driver; it is all that this package knows of one.
package adapter

import "crypto/tls"

// Driver is a driver that is measured.
type Driver struct {
	// Module is its path as a Go module.
	Module string
	// Configure makes an opener for one channel's connections of what the setup says and then its options, which
	// win. An error of the driver's own is a bad_job in its words, a *Failure is told as it is.
	Configure func(setup *Setup) (Opener, error)
	// Direct is whether TLS can begin at once, and Numbered whether it prepares statements with $1, $2, …
	Direct, Numbered bool
	Errors           Errors
}

// Opener is the driver's whole connect.
type Opener func() (Connection, error)

// Connection is one of the driver's.
type Connection interface {
	// Run says a statement that has its values in it, and reads all that is answered. The rows are given back,
	// as texts with nil for NULL, where they are to be kept.
	Run(sql string, want Want) ([][]*string, error)
	// Prepare prepares a statement with question marks, or as Driver.Numbered has it.
	Prepare(sql string) (Prepared, error)
	// TLS is what the driver's TLS object says was agreed on, nil in the clear, and whether it shows one at all.
	// It is asked before the channel opens another connection.
	TLS() (state *tls.ConnectionState, tells bool)
	// Close hangs up as the driver's documentation shows. A connection that is lost has nothing more to say, so
	// errors are of no interest.
	Close()
}

// Prepared is a statement that is prepared on its connection; it is gone when that is closed.
type Prepared interface {
	Run(values []any, want Want) ([][]*string, error)
}

// Want is what is wanted of a statement's answer.
type Want int

const (
	// NoRows is of statements that answer none.
	NoRows Want = iota
	// ReadRows are read and forgotten.
	ReadRows
	// KeepRows are given back.
	KeepRows
)

// Errors tells the driver's errors apart.
type Errors struct {
	// ServerCode is the number of the error that the server answered with, 0 where err is none of the server's.
	ServerCode func(err error) int
	// State is the SQLSTATE of PostgreSQL's error in place of that, empty where err is none of the server's.
	State func(err error) string
	// Meanings are tried in their order.
	Meanings []Meaning
	// Lost are what it says of a connection that is gone, where neither TLS nor the kernel tells why.
	Lost []error
	// SettingRefused are the server's answers, numbers or SQLSTATEs, to an option that the driver takes for a setting
	// of the server's.
	SettingRefused []any
}

// Meaning is the contract's kind of those errors that are Err or, where the driver has no value for them, have
// these Words. Of kind protocol a server that breaks it before it has let anybody in is not_mysql.
type Meaning struct {
	Err   error
	Words string
	Kind  string
}
