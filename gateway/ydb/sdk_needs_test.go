//go:build integration

package ydb_test

// These imports let the tests of ydb-go-sdk build unchanged from this module: see sdk_test.go.
import (
	_ "github.com/google/uuid"
	_ "github.com/rekby/fixenv"
	_ "github.com/stretchr/testify/assert"
	_ "github.com/stretchr/testify/require"
	_ "github.com/ydb-platform/ydb-go-sdk/v3"
	_ "github.com/ydb-platform/ydb-go-sdk/v3/pkg/xtest"
	_ "go.uber.org/goleak"
	_ "go.uber.org/zap"
	_ "golang.org/x/sync/errgroup"
	_ "golang.org/x/xerrors"
)
