// How a connection is opened: what the driver is told.
package main

import (
	"context"
	"net"
	"strconv"
	"time"

	"github.com/go-mysql-org/go-mysql/client"
	"github.com/go-mysql-org/go-mysql/driver"

	"tlstax/probes/drivers/go/adapter"
)

// dialTimeout is the one that client.Connect has.
const dialTimeout = 10 * time.Second

// opener holds all that the driver's Connect is given.
type opener struct {
	address  string
	account  adapter.Account
	database string
	timeout  time.Duration
	options  []client.Option
}

// connectOptions are the driver's own words for a connection, those of its data source name, and what it makes
// of them.
var connectOptions = map[string]driver.DriverOption{
	"compress":     driver.CompressOption,
	"collation":    driver.CollationOption,
	"readTimeout":  driver.ReadTimeoutOption,
	"writeTimeout": driver.WriteTimeoutOption,
}

func configure(setup *adapter.Setup) (adapter.Opener, error) {
	made := &opener{address: setup.Endpoint.Path, account: setup.Account, timeout: dialTimeout}
	if setup.Endpoint.Kind == "tcp" {
		made.address = net.JoinHostPort(setup.Endpoint.Host, strconv.Itoa(setup.Endpoint.Port))
	}
	if setup.Account.Database != nil {
		made.database = *setup.Account.Database
	}
	switch setup.TLS.Mode {
	case "required":
		made.options = append(made.options, driver.UseSslOption)
	case "on":
		config, err := setup.TLS.Config()
		if err != nil {
			return nil, err
		}
		if config.ServerName == "" {
			config.ServerName = setup.Endpoint.Host
		}
		made.options = append(made.options, func(c *client.Conn) error { c.SetTLSConfig(config); return nil })
	}
	for option, value := range setup.Options {
		if err := made.addOption(setup.Name, option, value); err != nil {
			return nil, err
		}
	}
	return made.open, nil
}

// addOption hands the driver an option after what the setup says, so that it wins. It is tried on a connection
// that is none, so that a wrong value is told before anything is opened.
func (o *opener) addOption(name, option, value string) (err error) {
	set, known := connectOptions[option]
	switch {
	case option == "timeout":
		o.timeout, err = time.ParseDuration(value)
		return err
	case option == "ssl" && value == "true":
		o.options = append(o.options, driver.UseSslOption)
		return nil
	case option == "ssl":
		return adapter.BadJob("%s: the option ssl can only be true, not %s", name, value)
	case !known:
		const words = "collation, compress, readTimeout, ssl, timeout and writeTimeout"
		return adapter.BadJob("%s has no option %s: there are %s", name, option, words)
	}
	o.options = append(o.options, func(c *client.Conn) error { return set(c, value) })
	return set(new(client.Conn), value)
}

func (o *opener) open() (adapter.Connection, error) {
	conn, err := client.ConnectWithContext(context.Background(), o.address, o.account.User, o.account.Password,
		o.database, o.timeout, o.options...)
	if err != nil {
		return nil, err
	}
	return connection{conn}, nil
}
