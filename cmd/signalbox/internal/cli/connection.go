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

// Connection says how the cluster is reached, and who said so.
type Connection struct {
	// Context is the name of the context that counts, empty for none.
	Context string
	said    map[string]Said
	token   string // of the environment
	say     func(format string, args ...any)
}

// Said is the text of a setting, and where it is from.
type Said struct{ Text, From string }

// Of the sources of a setting, each goes before those after it.
const (
	fromFlag    = "flag"
	fromDefault = "default"
)

// Connection finds out how the cluster is reached: by a flag, or else a variable, or else the context, or else the
// default.
func (f *Frame) Connection() (*Connection, error) {
	contexts, err := f.LoadContexts()
	if err != nil {
		return nil, err
	}
	k := &Connection{said: make(map[string]Said), token: f.Variable(TokenVariable), say: f.Say}
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
		k.said[s.name] = f.say(s, context, name)
		if _, known := context[s.name]; known && from == fromFlag && k.said[s.name].From == s.variable {
			f.Say("signalbox: %s goes before the %s of context %s", s.variable, s.name, Safe(name))
		}
	}
	if k.token != "" && k.said[settingTokenFile].From == fromFlag {
		k.token = ""
	}
	f.keepOwn(k, context)
	return k, nil
}

// keepOwn keeps the token and the TLS settings of a context from hosts that the context does not name: a host
// that gets a token can use it, and the TLS settings of one cluster are not those of another.
func (f *Frame) keepOwn(k *Connection, context Context) {
	own := context[settingEndpoints]
	if own == "" || within(k.Endpoints(), own) {
		return
	}
	var kept []string
	for _, s := range settings {
		if k.said[s.name].From != fromContext(k.Context) || s.name != settingTokenFile &&
			!strings.HasPrefix(s.name, settingTLS) {
			continue
		}
		k.said[s.name] = Said{"", fromDefault}
		if s.name != settingTokenFile || k.token == "" {
			kept = append(kept, "--"+s.name)
		}
	}
	if len(kept) > 0 {
		f.Say("signalbox: context %s is for its own endpoints, and what it says of %s is not used with others; flags "+
			"say it for them",
			Safe(k.Context), strings.Join(kept, ", "))
	}
}

// within reports whether all of some addresses, with commas between them, are among others.
func within(some, all string) bool {
	known := strings.Split(all, ",")
	for _, address := range strings.Split(some, ",") {
		if !slices.Contains(known, address) {
			return false
		}
	}
	return true
}

// fromContext is where a setting of a context is from.
func fromContext(name string) string { return "context " + name }

// contextName is the name of the context that counts, and who named it.
func (f *Frame) contextName(contexts *Contexts) (name, from string) {
	if f.context != "" {
		return f.context, fromFlag
	}
	if name := f.Variable(ContextVariable); name != "" {
		return name, ContextVariable
	}
	return contexts.Current, contexts.path
}

func (f *Frame) say(s setting, context Context, name string) Said {
	if text, given := flagText(f.flags, s.name); given {
		return Said{text, fromFlag}
	}
	if text := f.Variable(s.variable); text != "" {
		return Said{text, s.variable}
	}
	if text := context[s.name]; text != "" {
		return Said{text, fromContext(name)}
	}
	return Said{s.fallback, fromDefault}
}

// flagText returns what a flag was given.
func flagText(flags *pflag.FlagSet, name string) (text string, given bool) {
	flag := flags.Lookup(name)
	return flag.Value.String(), flag.Changed
}

// Each calls f with every setting and what is said of it. The token is among them, but not what it is.
func (c *Connection) Each(f func(name string, said Said)) {
	for _, s := range settings {
		f(s.name, c.said[s.name])
		if s.name == settingTokenFile && c.token != "" {
			f("token", Said{"(hidden)", TokenVariable})
		}
	}
}

// Endpoints are addresses of hosts, with commas between them.
func (c *Connection) Endpoints() string { return c.said[settingEndpoints].Text }

// Timeout is how long to wait for the cluster to answer.
func (c *Connection) Timeout() (time.Duration, error) {
	said := c.said[settingTimeout]
	d, err := time.ParseDuration(said.Text)
	if err != nil || d <= 0 {
		return 0, c.mistake(settingTimeout, "it is not a time above zero; write it like 500ms, 10s or 1m")
	}
	return d, nil
}

// tlsWanted reports whether to speak TLS.
func (c *Connection) tlsWanted() (bool, error) {
	if said := c.said[settingTLS].Text; said != "" {
		wanted, err := strconv.ParseBool(said)
		if err != nil {
			return false, c.mistake(settingTLS, "write true or false")
		}
		return wanted, nil
	}
	for name, said := range c.said {
		if strings.HasPrefix(name, settingTLS) && said.Text != "" {
			return true, nil
		}
	}
	return false, nil
}

// mistake is a setting that must be changed.
func (c *Connection) mistake(name, problem string) error {
	said := c.said[name]
	return Errorf(ExitUsage, "%s %s (%s): %s", name, Safe(said.Text), Safe(said.From), problem)
}
