package cli

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"
)

// Connection contains the settings for connecting to the cluster, each with its source.
type Connection struct {
	// Context is the current context's name, empty for none.
	Context string
	// Timeout is how long to wait for the cluster's answer, set by Frame.Connection.
	Timeout time.Duration
	given   map[string]Given
	token   string // from the environment
	say     func(format string, args ...any)
}

// Given is a setting's text with its source.
type Given struct{ Text, From string }

// Sources of a setting, highest priority first.
const (
	fromFlag    = "flag"
	fromDefault = "default"
)

// Connection determines the connection settings, and checks the timeout.
func (f *Frame) Connection() (k *Connection, err error) {
	if k, err = f.Settings(); err == nil {
		k.Timeout, err = k.timeout()
	}
	return k, err
}

// Settings determines the connection settings: from a flag, else a variable, else the context, else the default.
func (f *Frame) Settings() (*Connection, error) {
	contexts, err := f.LoadContexts()
	if err != nil {
		return nil, err
	}
	k := &Connection{given: make(map[string]Given), token: f.Variable(TokenVariable), say: f.Say}
	var context Context
	name, from := f.contextName(contexts)
	if name != "" {
		if context, err = contexts.Get(name); err != nil {
			who := map[string]string{fromFlag: "--" + contextFlag}[from]
			return nil, fmt.Errorf("%s: %w", cmp.Or(who, from), err)
		}
		k.Context = name
	}
	for _, s := range settings {
		k.given[s.name] = f.say(s, context, name)
		if _, known := context[s.name]; known && from == fromFlag && k.given[s.name].From == s.variable {
			f.Say("signalbox: %s overrides the %s in context %s", s.variable, s.name, Safe(name))
		}
	}
	if k.token != "" && k.given[settingTokenFile].From == fromFlag {
		k.token = ""
	}
	f.keepOwn(k, context)
	return k, nil
}

// keepOwn withholds a context's token and TLS settings from hosts the context does not name: a host that receives a
// token can use it, and one cluster's TLS settings are wrong for another.
func (f *Frame) keepOwn(k *Connection, context Context) {
	own := context[settingEndpoints]
	if own == "" || within(k.Endpoints(), own) {
		return
	}
	var kept []string
	for _, s := range settings {
		if k.given[s.name].From != fromContext(k.Context) || s.name != settingTokenFile &&
			!strings.HasPrefix(s.name, settingTLS) {
			continue
		}
		k.given[s.name] = Given{"", fromDefault}
		if s.name != settingTokenFile || k.token == "" {
			kept = append(kept, "--"+s.name)
		}
	}
	if len(kept) > 0 {
		f.Say("signalbox: the settings of context %s for %s are not used with other endpoints; use flags instead",
			Safe(k.Context), strings.Join(kept, ", "))
	}
}

// within reports whether all addresses in a comma-separated list are in another list.
func within(some, all string) bool {
	known := strings.Split(all, ",")
	for _, address := range strings.Split(some, ",") {
		if !slices.Contains(known, address) {
			return false
		}
	}
	return true
}

// fromContext returns the source for a setting from a context.
func fromContext(name string) string { return "context " + name }

// contextName returns the current context's name, with the name's source.
func (f *Frame) contextName(contexts *Contexts) (name, from string) {
	if f.context != "" {
		return f.context, fromFlag
	}
	if name := f.Variable(ContextVariable); name != "" {
		return name, ContextVariable
	}
	return contexts.Current, contexts.path
}

func (f *Frame) say(s setting, context Context, name string) Given {
	if text, given := flagText(f.flags, s.name); given {
		return Given{text, fromFlag}
	}
	if text := f.Variable(s.variable); text != "" {
		return Given{text, s.variable}
	}
	if text := context[s.name]; text != "" {
		return Given{text, fromContext(name)}
	}
	return Given{s.fallback, fromDefault}
}

// flagText returns a flag's given text.
func flagText(flags *pflag.FlagSet, name string) (text string, given bool) {
	flag := flags.Lookup(name)
	return flag.Value.String(), flag.Changed
}

// Each calls f with every setting and its value. The token is included, with a hidden value.
func (c *Connection) Each(f func(name string, given Given)) {
	for _, s := range settings {
		f(s.name, c.given[s.name])
		if s.name == settingTokenFile && c.token != "" {
			f("token", Given{"(hidden)", TokenVariable})
		}
	}
}

// Endpoints returns comma-separated host addresses.
func (c *Connection) Endpoints() string { return c.given[settingEndpoints].Text }

// NamesCluster reports whether a flag, a variable or a context specified the endpoints.
func (c *Connection) NamesCluster() bool { return c.given[settingEndpoints].From != fromDefault }

// timeout parses the setting.
func (c *Connection) timeout() (time.Duration, error) {
	given := c.given[settingTimeout]
	d, err := time.ParseDuration(given.Text)
	if err != nil || d <= 0 {
		return 0, c.mistake(settingTimeout, "must be a duration above zero, such as 500ms, 10s or 1m")
	}
	return d, nil
}

// tlsWanted reports whether to use TLS.
func (c *Connection) tlsWanted() (bool, error) {
	if given := c.given[settingTLS].Text; given != "" {
		wanted, err := strconv.ParseBool(given)
		if err != nil {
			return false, c.mistake(settingTLS, "must be true or false")
		}
		return wanted, nil
	}
	for name, given := range c.given {
		if strings.HasPrefix(name, settingTLS) && given.Text != "" {
			return true, nil
		}
	}
	return false, nil
}

// mistake returns an error for a setting that must be changed.
func (c *Connection) mistake(name, problem string) error {
	given := c.given[name]
	return Errorf(ExitUsage, "%s %s (%s): %s", name, Safe(given.Text), Safe(given.From), problem)
}
