// go-mysql-org/go-mysql/client behind the contract: what the program is to know of it.
package main

import (
	"errors"

	"github.com/go-mysql-org/go-mysql/mysql"

	"tlstax/probes/drivers/go/program"
)

func main() {
	program.Main(&program.Driver{
		Product: "go-mysql", Module: "github.com/go-mysql-org/go-mysql", Configure: configure, Errors: driverErrors,
	})
}

var driverErrors = program.Errors{
	ServerCode: func(err error) int {
		var refused *mysql.MyError
		if errors.As(err, &refused) {
			return int(refused.Code)
		}
		return 0
	},
	Meanings: []program.Meaning{
		{Words: "does not support TLS", Kind: "no_tls"},
		{Words: "auth plugin", Kind: "access_denied"},
		{Words: "invalid collation name", Kind: "bad_job"},
		{Words: "invalid protocol version", Kind: "protocol"},
		{Words: "invalid sequence", Kind: "protocol"},
		{Err: mysql.ErrMalformPacket, Kind: "protocol"},
	},
	Lost: []error{mysql.ErrBadConn},
}
