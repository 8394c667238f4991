use super::print;
use crate::cli::ConfigCommand;
use slyfi_link::Result;
use slyfi_link::config::{Config, keys};

/// `slyfi config …`
pub fn run(command: &ConfigCommand) -> Result<()> {
    match command {
        ConfigCommand::Example => print(&keys::example()),
        ConfigCommand::Reference => print(&keys::reference()),
        ConfigCommand::Check { file } => {
            Config::read(file)?;
            print(&format!("{}: no mistakes\n", file.display()))
        }
    }
}
