package http

import (
	"context"
	"crypto/rand"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/signalbox/signalbox/gateway/operation"
	"github.com/signalbox/signalbox/protocol"
)

const (
	// cookieAge is how long a sign-in lasts.
	cookieAge = 8 * time.Hour
	// maxCookies is the maximum number of sign-ins: another sign-in ends the oldest.
	maxCookies = 1024
)

// cookies holds the console sign-ins at this host, only in memory, so they end with the host.
type cookies struct {
	mu    sync.Mutex
	known map[string]shownToken
}

// shownToken is a token shown by a browser.
type shownToken struct {
	text string
	ends time.Time
}

// add stores a token and returns its cookie value.
func (c *cookies) add(token string, now time.Time) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.known == nil {
		c.known = make(map[string]shownToken)
	}
	var oldest string
	for value, s := range c.known {
		if !now.Before(s.ends) {
			delete(c.known, value)
		} else if oldest == "" || s.ends.Before(c.known[oldest].ends) {
			oldest = value
		}
	}
	if len(c.known) >= maxCookies {
		delete(c.known, oldest)
	}
	value := rand.Text() + rand.Text()
	c.known[value] = shownToken{token, now.Add(cookieAge)}
	return value
}

// token returns a cookie's token.
func (c *cookies) token(value string, now time.Time) (token string, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	s, ok := c.known[value]
	if !ok || !now.Before(s.ends) {
		delete(c.known, value)
		return "", false
	}
	return s.text, true
}

func (c *cookies) remove(value string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.known, value)
}

// cookieName returns the cookie name. With TLS a browser accepts the cookie only over TLS, and from no other host in
// the domain.
func (g *Gateway) cookieName() string {
	if g.config.Secure {
		return "__Host-signalbox"
	}
	return "signalbox"
}

// token returns a request's token, from its header or by a cookie.
func (g *Gateway) token(r *http.Request) (token string, byCookie bool, err error) {
	if header := r.Header.Get("Authorization"); header != "" {
		scheme, token, _ := strings.Cut(header, " ")
		if !strings.EqualFold(scheme, "Bearer") || token == "" {
			return "", false, refuseCode(http.StatusUnauthorized, protocol.StatusUnauthorized,
				"the header Authorization has a wrong format", "write Authorization: Bearer TOKEN")
		}
		return strings.TrimSpace(token), false, nil
	}
	cookie, err := r.Cookie(g.cookieName())
	if err != nil {
		return "", false, nil
	}
	token, ok := g.cookies.token(cookie.Value, time.Now())
	return token, ok, nil
}

// setCookie has the browser keep a value, or forget the cookie for an empty value.
func (g *Gateway) setCookie(w http.ResponseWriter, value string) {
	cookie := &http.Cookie{
		Name: g.cookieName(), Value: value, Path: "/", HttpOnly: true, Secure: g.config.Secure,
		SameSite: http.SameSiteStrictMode, MaxAge: int(cookieAge.Seconds()),
	}
	if value == "" {
		cookie.MaxAge = -1
	}
	http.SetCookie(w, cookie)
}

// signInRequest is the console's request to sign in.
type signInRequest struct {
	Token string `need:"true" about:"Access token"`
}

// signedIn has facts that a page cannot determine itself.
type signedIn struct {
	SignedIn bool
	ReadOnly bool `about:"Browsers without a token may not make changes"`
}

func isSignedIn(_ context.Context, c *call, _ *operation.None) (signedIn, error) {
	_, known, err := c.gateway.token(c.r)
	known = known && err == nil
	return signedIn{known, !known && !c.gateway.config.Actions}, nil
}

func signIn(ctx context.Context, c *call, q *signInRequest) (operation.Done, error) {
	g := c.gateway
	who, err := g.callers.acquire(ctx, strings.TrimSpace(q.Token), c.from)
	if err != nil {
		return operation.Done{}, err
	}
	defer g.callers.release(who)
	g.setCookie(c.w, g.cookies.add(strings.TrimSpace(q.Token), time.Now()))
	return operation.Done{Changed: true}, nil
}

func signOut(_ context.Context, c *call, _ *operation.None) (operation.Done, error) {
	return operation.Done{Changed: c.gateway.forget(c.w, c.r)}, nil
}

// forget ends the sign-in for a request's cookie, if present.
func (g *Gateway) forget(w http.ResponseWriter, r *http.Request) bool {
	cookie, err := r.Cookie(g.cookieName())
	if err == nil {
		g.cookies.remove(cookie.Value)
	}
	g.setCookie(w, "")
	return err == nil
}
