// How a connection is opened: what the driver is told.
package main

import (
	"crypto/tls"
	"net"
	"net/url"
	"strconv"

	"github.com/go-sql-driver/mysql"

	"tlstax/probes/drivers/go/adapter"
	"tlstax/probes/drivers/go/stdsql"
)

func configure(setup *adapter.Setup) (adapter.Opener, error) {
	config, err := mysql.ParseDSN(dsn(setup))
	if err != nil {
		return nil, err
	}
	config.User, config.Passwd = setup.Account.User, setup.Account.Password
	if _, ownWord := setup.Options["tls"]; setup.TLS.Mode == "on" && !ownWord {
		if config.TLS, err = setup.TLS.Config(); err != nil {
			return nil, err
		}
	}
	made := &stdsql.Opener{Interpolates: config.InterpolateParams}
	if config.TLS != nil {
		listen(made, config.TLS)
	}
	if made.Connector, err = mysql.NewConnector(config); err != nil {
		return nil, err
	}
	return made.Open, nil
}

// dsn is the data source name without the account, whose characters would have to be escaped.
func dsn(setup *adapter.Setup) string {
	place := "unix(" + setup.Endpoint.Path + ")"
	if setup.Endpoint.Kind == "tcp" {
		place = "tcp(" + net.JoinHostPort(setup.Endpoint.Host, strconv.Itoa(setup.Endpoint.Port)) + ")"
	}
	database := ""
	if setup.Account.Database != nil {
		database = url.PathEscape(*setup.Account.Database)
	}
	words := url.Values{}
	switch setup.TLS.Mode {
	case "off":
		words.Set("tls", "false")
	case "required":
		words.Set("tls", "true")
	}
	for name, value := range setup.Options {
		words.Set(name, value)
	}
	return place + "/" + database + "?" + words.Encode()
}

// listen hears of every handshake what was agreed on: the driver keeps its connection to itself.
func listen(opener *stdsql.Opener, config *tls.Config) {
	verify := config.VerifyConnection
	config.VerifyConnection = func(state tls.ConnectionState) error {
		opener.LastTLS.Store(&state)
		if verify != nil {
			return verify(state)
		}
		return nil
	}
}
