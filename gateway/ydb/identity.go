package ydb

import (
	"context"

	"github.com/ydb-platform/ydb-go-genproto/protos/Ydb"
	"github.com/ydb-platform/ydb-go-genproto/protos/Ydb_Auth"
	"github.com/ydb-platform/ydb-go-genproto/protos/Ydb_Discovery"
)

// WhoAmI returns the name of the caller's token, or of the certificate presented by the gateway; empty for anonymous
// callers.
func (g *Gateway) WhoAmI(
	ctx context.Context, _ *Ydb_Discovery.WhoAmIRequest,
) (*Ydb_Discovery.WhoAmIResponse, error) {
	result := &Ydb_Discovery.WhoAmIResult{}
	err := g.withCluster(ctx, nil, func(ctx context.Context, _ call, t *ticket) (err error) {
		result.User, err = t.raw.Principal(ctx)
		return err
	})
	return &Ydb_Discovery.WhoAmIResponse{Operation: operation(result, err)}, nil
}

// Login treats the user as a token name and the password as the token, and returns the token.
func (g *Gateway) Login(ctx context.Context, r *Ydb_Auth.LoginRequest) (*Ydb_Auth.LoginResponse, error) {
	ctx, cancel := withTimeout(ctx, r.GetOperationParams())
	defer cancel()
	return &Ydb_Auth.LoginResponse{
		Operation: operation(&Ydb_Auth.LoginResult{Token: r.Password}, g.login(ctx, r.User, r.Password)),
	}, nil
}

func (g *Gateway) login(ctx context.Context, user, password string) error {
	if password == "" {
		return &failed{Ydb.StatusIds_UNAUTHORIZED, "the password is empty; it is a token of the cluster"}
	}
	c, err := g.callOf(ctx)
	if err == nil {
		err = g.maySend(&c, password)
	}
	if err != nil {
		return err
	}
	t, leave, err := g.admit(ctx, &c, password)
	if err != nil {
		return err
	}
	defer leave()
	name, err := t.raw.Principal(ctx)
	if err == nil && name != user {
		err = &failed{Ydb.StatusIds_UNAUTHORIZED, "the password is not the token of that name"}
	}
	return err
}
