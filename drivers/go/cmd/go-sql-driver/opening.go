// How a connection is opened: what the driver is told.
package main

import (
	"context"
	"crypto/tls"
	"database/sql"
	"database/sql/driver"
	"net"
	"net/url"
	"strconv"
	"sync/atomic"

	"github.com/go-sql-driver/mysql"

	"tlstax/probes/drivers/go/adapter"
)

// opener has the driver's connector, and what the last TLS handshake agreed on.
type opener struct {
	connector    driver.Connector
	interpolates bool
	lastTLS      atomic.Pointer[tls.ConnectionState]
}

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
	made := &opener{interpolates: config.InterpolateParams}
	if config.TLS != nil {
		made.listen(config.TLS)
	}
	if made.connector, err = mysql.NewConnector(config); err != nil {
		return nil, err
	}
	return made.open, nil
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
func (o *opener) listen(config *tls.Config) {
	verify := config.VerifyConnection
	config.VerifyConnection = func(state tls.ConnectionState) error {
		o.lastTLS.Store(&state)
		if verify != nil {
			return verify(state)
		}
		return nil
	}
}

func (o *opener) open() (adapter.Connection, error) {
	o.lastTLS.Store(nil)
	pool := sql.OpenDB(o.connector)
	conn, err := pool.Conn(context.Background())
	if err != nil {
		_ = pool.Close()
		return nil, err
	}
	return &connection{opener: o, pool: pool, conn: conn}, nil
}
